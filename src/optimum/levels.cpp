#include "optimum/levels.h"

#include <cmath>

#include "base/checked.h"

namespace tilescope {

double weighted_cost(const PowerLaw& law, std::span<const Level> levels) {
  double cost = 0;
  for (const Level& level : levels)
    if (level.cost != 0) cost += level.cost * evaluate(law, level.memory);
  return cost;
}

double figure_of_merit(const Level& level, double beta) { return std::pow(level.memory, beta) / level.cost; }

double intermediate_memory(double child_memory, double children) { return child_memory * children; }

bool intermediate_applies(std::int64_t children, std::int64_t inner_groups, std::int64_t outer_groups) {
  return outer_groups > 0 && children >= ceil_div(inner_groups, outer_groups);
}

std::int64_t cached_head_values(const StreamedHead& head, std::int64_t blocks, std::int64_t cache_values) {
  const std::int64_t wave_rows = checked_mul(blocks, head.group_rows);
  const std::int64_t keys_and_values = checked_mul(head.kv_len, head.kv_width);
  const std::int64_t wave_values = checked_mul(wave_rows, head.qo_width);
  const bool survives = checked_add(keys_and_values, wave_values) <= cache_values;
  const std::int64_t passes = survives ? 1 : ceil_div(head.q_len, wave_rows);
  return checked_add(checked_mul(head.q_len, head.qo_width), checked_mul(keys_and_values, passes));
}

double cross_transfer_cost(const PowerLaw& law, const ChildFamily& family) {
  const double from_parent = evaluate(law, intermediate_memory(family.child_memory, family.children));
  const double into_children = evaluate(law, family.child_memory);
  return family.parent_cost * from_parent + family.cross_cost * (into_children - from_parent);
}

double cross_transfer_saving(const PowerLaw& law, const ChildFamily& family) {
  return family.parent_cost * evaluate(law, family.child_memory) - cross_transfer_cost(law, family);
}

}  // namespace tilescope
