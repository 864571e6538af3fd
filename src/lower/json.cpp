// A lowering's result as JSON (schema tilescope/lowering-result/1): the numbers of the text, unrounded.
#include "lower/result.h"

namespace tilescope::lower {
namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json divisors_json(const PlanResult& plan) {
  Json rows = Json::array();
  for (const DivisorResult& d : plan.divisors)
    rows.push_back(
        {{"size", d.size}, {"value", d.value}, {"multiple", d.multiple}, {"because", d.because}, {"ok", d.ok}});
  return rows;
}

Json configuration_json(const Lowering& lowering, const Configuration& c) {
  Json variables = Json::array(), levels = Json::array();
  for (const VariableUse& use : c.variables)
    variables.push_back({{"name", use.name},
                         {"level", to_string(use.level)},
                         {"scope", to_string(use.scope)},
                         {"bytes", use.bytes},
                         {"stored_bytes", use.stored_bytes},
                         {"shares", use.shares.empty() ? Json(nullptr) : Json(use.shares)}});
  for (const LevelFit& fit : c.levels)
    levels.push_back({{"level", to_string(fit.level)},
                      {"capacity_bytes", fit.capacity_bytes},
                      {"block_bytes", fit.block_bytes},
                      {"copy_bytes", fit.copy_bytes},
                      {"copies_max", or_null(fit.copies_max)},
                      {"copies", fit.copies_max ? Json(fit.copies) : Json(nullptr)}});
  Json registers = nullptr;
  if (c.registers)
    registers = {{"per_thread", c.registers->per_thread},
                 {"allocated", c.registers->allocated},
                 {"limit", c.registers->limit > 0 ? Json(c.registers->limit) : Json(nullptr)}};
  return {{"copied", to_string(lowering.copies.scope)},
          {"copies", c.copies},
          {"limited_by", c.limited_by},
          {"group_rows", c.group_rows},
          {"levels", std::move(levels)},
          {"registers", std::move(registers)},
          {"variables", std::move(variables)}};
}

Json throughput_json(const PlanResult& plan) {
  const Throughput& t = plan.throughput;
  Json operations = Json::array(), pipes = Json::array();
  for (const OperationClocks& o : t.operations) {
    const char* unit = o.unit == AmountUnit::flop ? "FLOP" : o.unit == AmountUnit::count ? "operation" : "byte";
    operations.push_back({{"name", o.name},
                          {"pipe", o.pipe},
                          {"unit", unit},
                          {"amount", o.amount},
                          {"per_clock", o.rate},
                          {"clocks", o.clocks},
                          {"rate_source", o.rate_source}});
  }
  for (const PipeClocks& pipe : t.pipes) pipes.push_back({{"name", pipe.pipe}, {"clocks", pipe.clocks}});
  return {{"rows", t.rows},
          {"overlap", plan.overlap},
          {"bound_clocks", t.bound_clocks},
          {"bound_by", t.bound_by},
          {"tensor_flop", t.tensor_flop},
          {"ideal_flop_per_second", t.ideal_flop_per_second},
          {"pipes", std::move(pipes)},
          {"operations", std::move(operations)}};
}

Json bandwidth_json(const std::optional<BandwidthTest>& test) {
  if (!test) return nullptr;
  return {{"bytes_per_unit", test->bytes_per_unit},
          {"compute_seconds", test->compute_seconds},
          {"transfer_seconds", test->transfer_seconds},
          {"compute_bound", test->compute_seconds >= test->transfer_seconds},
          {"least_rows", test->least_rows}};
}

}  // namespace

Json to_json(const LoweringResult& result) {
  const Lowering& lowering = result.lowering;
  Json plans = Json::array();
  for (const PlanResult& plan : result.plans)
    plans.push_back({{"name", plan.name},
                     {"fits", plan.problems.empty()},
                     {"problems", plan.problems},
                     {"sizes", plan.sizes},
                     {"divisors", divisors_json(plan)},
                     {"configuration", configuration_json(lowering, plan.configuration)},
                     {"throughput", throughput_json(plan)},
                     {"bandwidth", bandwidth_json(plan.bandwidth)}});
  return {{"schema", "tilescope/lowering-result/1"},
          {"lowering", lowering.name},
          {"hardware", lowering.hardware.id},
          {"summary", lowering.summary},
          {"source", lowering.source},
          {"sources", lowering.sources},
          {"plans", std::move(plans)}};
}

}  // namespace tilescope::lower
