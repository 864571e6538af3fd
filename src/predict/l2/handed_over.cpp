#include "predict/l2/handed_over.h"

#include <algorithm>
#include <limits>

#include "predict/time/time_parts.h"

namespace tilescope {
namespace {

// Of what island `from` was the last to touch, the part that an L2 which drops the oldest bytes still has when island
// `to` comes to it. Both go through it in the same order, so between the two come the rest of `from`, all islands in
// between and the beginning of `to`.
double kept_part(const Prediction& out, int from, int to, double capacity) {
  const auto bytes = [&](int number) { return moved(out.islands[static_cast<std::size_t>(number)], Boundary::hbm); };
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
double found(const BoundIsland& bound, const Prediction& out, ArrayId id, double capacity) {
  if (!from_earlier_island(bound, id)) return 0;
  int last = -1;
  for (const Term& term : out.terms)
    if (term.array == static_cast<int>(id) && term.boundary == Boundary::hbm && term.island < bound.number)
      last = std::max(last, term.island);
  return last < 0 ? 0 : read_alone(bound, out, id) * kept_part(out, last, bound.number, capacity);
}

double found(const BoundIsland& bound, const Prediction& out, double capacity) {
  double bytes = 0;
  for (std::size_t i = 0; i < bound.plan.schedule.diagram.arrays.size(); ++i)
    bytes += found(bound, out, static_cast<ArrayId>(static_cast<int>(i)), capacity);
  return bytes;
}

double capacity_of_l2(const BoundIsland& bound) {
  const auto& measured = bound.hardware.measured;
  return measured && measured->l2.capacity_private ? measured->l2.capacity_private->value : 0;
}

}  // namespace

bool from_earlier_island(const BoundIsland& bound, ArrayId id) {
  const Schedule& schedule = bound.plan.schedule;
  for (int i = 0; i < bound.number; ++i)
    if (schedule.writes(schedule.islands[static_cast<std::size_t>(i)], id)) return true;
  return false;
}

double read_alone(const BoundIsland& bound, const Prediction& out, ArrayId id) {
  double bytes = 0;
  for (const Term& term : out.terms)
    if (term.island == bound.number && term.array == static_cast<int>(id) && term.boundary == Boundary::hbm &&
        term.direction == Direction::read)
      bytes += static_cast<double>(term.bytes);
  return bytes;
}

double handed_over(const BoundIsland& bound, const Prediction& out) { return found(bound, out, capacity_of_l2(bound)); }

double handed_over(const BoundIsland& bound, const Prediction& out, ArrayId id) {
  return found(bound, out, id, capacity_of_l2(bound));
}

double written_earlier(const BoundIsland& bound, const Prediction& out) {
  return found(bound, out, std::numeric_limits<double>::infinity());
}

}  // namespace tilescope
