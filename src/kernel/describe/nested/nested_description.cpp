#include "kernel/describe/nested/nested_description.h"

#include "kernel/describe/step_program.h"

namespace tilescope {

DescribeInput with_launched_dims(DescribeInput input, std::vector<MissingValue>& missing) {
  const AttentionFacts& facts = input.facts;
  if (facts.depth_of_pass == 0) return input;
  if (!input.workload || !input.head_dims_stated) {
    missing.push_back({"head_dim", fmt::format("the launch decides how many passes of depth {} sum over it: give "
                                               "--head-dim with the sizes",
                                               facts.depth_of_pass)});
    return input;
  }
  const std::int64_t columns = facts.v_head_dim;
  if (input.workload->d_v > columns)
    missing.push_back({"v_head_dim", fmt::format("the block computes {} columns of the values at once, fewer than the "
                                                 "{} of the launch",
                                                 columns, input.workload->d_v)});
  input.facts = with_head_dims(facts, input.workload->d_qk, input.workload->d_v);
  input.head_dims_from = ValueSource::given;
  return input;
}

void add_value_passes(const BlockTile& tile, AttentionFacts& facts) {
  if (facts.value_depth == 0) return;
  const std::int64_t passes = tile.tile_kv / facts.value_depth;
  for (const auto& [pipe, count] : facts.value_pass) facts.step[pipe] += passes * count;
  facts.program = with_passes(std::move(facts.program), InnerLoop::values, passes);
}

// Units share the products' tiles as the code says. The columns are what is left of the units, if all have some.
void describe_nested_products(const AttentionFacts& facts, DescribedPart& part) {
  const auto grid = [&](const UnitGrid& units) {
    return facts.helpers > 0 ? fmt::format("{{rows: {}, columns: {}}}", units.rows, units.columns)
                             : fmt::format("{{rows: {}}}", units.rows);
  };
  const std::string fetches = facts.helpers > 0 ? fmt::format(", fetches: {{P: {}}}", facts.helpers) : "";
  part.add("products",
           fmt::format("{{scores: {{grid: {}}}, values: {{grid: {}{}}}}}", grid(facts.score_grid),
                       grid(facts.value_grid), fetches),
           ValueSource::code,
           facts.helpers > 0 ? "other warpgroups multiply P from shared memory by further columns of V"
                             : "warps that read an operand at one address share its rows or columns");
}

}  // namespace tilescope
