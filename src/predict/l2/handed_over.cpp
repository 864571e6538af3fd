#include "predict/l2/handed_over.h"

#include <algorithm>
#include <limits>

namespace tilescope {
namespace {

// Of what island `from` was the last to touch, the part that an L2 which drops the oldest bytes still has when island
// `to` comes to it. Both go through it in the same order, so between the two come the rest of `from`, all islands in
// between and the beginning of `to`.
double kept_part(Launches launches, int from, int to, double capacity) {
  const auto bytes = [&](int number) { return moved(launches[static_cast<std::size_t>(number)], Boundary::hbm); };
  double between = 0;
  for (int i = from + 1; i < to; ++i) between += bytes(i);
  const double first = bytes(from) + between,
               last = between + bytes(to);  // passed since, of the first byte and of the last
  if (std::max(first, last) <= capacity) return 1;
  if (std::min(first, last) >= capacity) return 0;
  const double meets = (capacity - first) / (last - first);
  return first < last ? meets : 1 - meets;
}

// Bytes of an array that an L2 of this capacity still has, of what earlier islands wrote and this one reads.
double found(const BoundIsland& bound, Launches launches, ArrayId id, double capacity) {
  if (!from_earlier_launch(bound, id)) return 0;
  int last = -1;
  for (int earlier = 0; earlier < bound.number; ++earlier)
    for (const Term& term : launches[static_cast<std::size_t>(earlier)].terms)
      if (term.array == static_cast<int>(id) && term.boundary == Boundary::hbm) last = earlier;
  return last < 0 ? 0
                  : read_from_memory(launches[static_cast<std::size_t>(bound.number)], id) *
                        kept_part(launches, last, bound.number, capacity);
}

double found(const BoundIsland& bound, Launches launches, double capacity) {
  double bytes = 0;
  for (std::size_t i = 0; i < bound.plan.schedule.diagram.arrays.size(); ++i)
    bytes += found(bound, launches, static_cast<ArrayId>(static_cast<int>(i)), capacity);
  return bytes;
}

double capacity_of_l2(const BoundIsland& bound) {
  const auto& measured = bound.hardware.measured;
  return measured && measured->l2.capacity_private ? measured->l2.capacity_private->value : 0;
}

}  // namespace

bool from_earlier_launch(const BoundIsland& bound, ArrayId id) {
  const Schedule& schedule = bound.plan.schedule;
  for (int i = 0; i < bound.number; ++i)
    if (schedule.writes(schedule.islands[static_cast<std::size_t>(i)], id)) return true;
  return false;
}

double read_from_memory(const LaunchCounts& counts, ArrayId id) {
  double bytes = 0;
  for (const Term& term : counts.terms)
    if (term.array == static_cast<int>(id) && term.boundary == Boundary::hbm && term.direction == Direction::read)
      bytes += static_cast<double>(term.bytes);
  return bytes;
}

double handed_over(const BoundIsland& bound, Launches launches) {
  return found(bound, launches, capacity_of_l2(bound));
}

double handed_over(const BoundIsland& bound, Launches launches, ArrayId id) {
  return found(bound, launches, id, capacity_of_l2(bound));
}

double handed_over_unlimited(const BoundIsland& bound, Launches launches) {
  return found(bound, launches, std::numeric_limits<double>::infinity());
}

}  // namespace tilescope
