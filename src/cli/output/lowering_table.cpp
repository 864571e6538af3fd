#include "cli/output/lowering_table.h"

#include <fmt/format.h>

#include "base/text.h"

namespace tilescope::cli {
namespace {

std::string sizes_text(const lower::Sizes& sizes) {
  std::vector<std::string> shown;
  for (const auto& [name, value] : sizes) shown.push_back(fmt::format("{}={}", name, value));
  return join(shown, " ");
}

const Columns<lower::PlanResult>& plan_columns() {
  using R = lower::PlanResult;
  static const Columns<R> columns{
      {{"plan", "plan", "", "Name of the plan.", Origin::question}, [](const R& r) { return r.name; }},
      {{"sizes", "sizes", "", "Its sizes.", Origin::question}, [](const R& r) { return sizes_text(r.sizes); }},
      {{"fits", "fits", "", "Whether it fits every memory and meets every divisor.", Origin::loops},
       [](const R& r) { return r.problems.empty(); }},
      {{"problems", "problems", "", "What does not fit.", Origin::loops},
       [](const R& r) { return join(r.problems, "; "); }},
      {{"copies", "copies", "", "Copies of the program on an SM.", Origin::loops},
       [](const R& r) { return r.configuration.copies; }},
      {{"limited_by", "limited_by", "", "The memory, or threads, that limits the copies.", Origin::profile},
       [](const R& r) { return r.configuration.limited_by; }},
      {{"group_rows", "group_rows", "", "Rows of the grouped axis that the copies hold.", Origin::loops},
       [](const R& r) { return r.configuration.group_rows; }},
      {{"rows", "rows", "", "Rows of one iteration.", Origin::loops}, [](const R& r) { return r.throughput.rows; }},
      {{"bound_clocks", "bound_clocks", "clk", "Least clocks of one iteration on an SM.", Origin::time_model},
       [](const R& r) { return r.throughput.bound_clocks; }},
      {{"bound_by", "bound_by", "", "The pipe that takes them.", Origin::time_model},
       [](const R& r) { return r.throughput.bound_by; }},
      {{"ideal_flop_per_second", "ideal_flop_per_second", "FLOP/s", "Rate of the GPU if only that pipe takes time.",
        Origin::time_model},
       [](const R& r) { return r.throughput.ideal_flop_per_second; }},
      {{"compute_seconds", "compute_seconds", "s", "Computing on one streamed tile; null: nothing is streamed.",
        Origin::time_model},
       [](const R& r) { return r.bandwidth ? Json(r.bandwidth->compute_seconds) : Json(nullptr); }},
      {{"transfer_seconds", "transfer_seconds", "s", "Loading it from memory.", Origin::time_model},
       [](const R& r) { return r.bandwidth ? Json(r.bandwidth->transfer_seconds) : Json(nullptr); }},
  };
  return columns;
}

}  // namespace

Table lowering_table(const lower::LoweringResult& result) { return table_of("", plan_columns(), result.plans); }

ColumnList lowering_column_list() { return listed("lowering", "derive --lowering: csv", plan_columns()); }

}  // namespace tilescope::cli
