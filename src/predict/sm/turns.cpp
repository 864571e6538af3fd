#include "predict/sm/turns.h"

#include <algorithm>
#include <array>

namespace tilescope {

double SpecialTurns::round(std::int64_t groups) const {
  enum Phase { at_first, at_before, at_special, at_last, at_after };
  struct Group {
    double ready = 0;
    int phase = at_first, steps = 0;
  };
  constexpr int warm = 8, counted = 8;
  std::array<Group, 8> all{};
  const int count = static_cast<int>(std::clamp<std::int64_t>(groups, 1, 8));
  double matrix_free = 0, turn_free = 0, warm_at = 0;
  int turn = 0;
  while (all[0].steps < warm + counted) {
    int next = -1;  // whoever is ready first; the matrix unit serves in that order
    for (int i = 0; i < count; ++i) {
      const Group& each = all[static_cast<std::size_t>(i)];
      if (each.phase == at_special && turn != i) continue;
      if (next < 0 || each.ready < all[static_cast<std::size_t>(next)].ready) next = i;
    }
    Group& group = all[static_cast<std::size_t>(next)];
    switch (group.phase) {
      case at_first:
        matrix_free = group.ready = std::max(group.ready, matrix_free) + first;
        break;
      case at_before:
        group.ready += before;
        break;
      case at_special:
        turn_free = group.ready = std::max(group.ready, turn_free) + special;
        turn = (turn + 1) % count;
        break;
      case at_last:
        matrix_free = group.ready = std::max(group.ready, matrix_free) + last;
        break;
      default:
        group.ready += after, ++group.steps;
    }
    group.phase = group.phase == at_after ? at_first : group.phase + 1;
    if (next == 0 && group.phase == at_first && group.steps == warm) warm_at = group.ready;
  }
  return (all[0].ready - warm_at) / counted;
}

}  // namespace tilescope
