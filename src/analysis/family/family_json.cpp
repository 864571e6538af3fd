#include "analysis/family/family.h"
#include "analysis/json.h"

namespace tilescope::analysis {
namespace {

Json spread_json(const std::optional<ErrorSpread>& spread) {
  if (!spread) return nullptr;
  return {{"n", whole(spread->n)}, {"median", json_of(spread->median)}, {"worst", json_of(spread->worst)}};
}

Json number_json(const FamilyNumber& number) {
  return {{"quantity", number.quantity},
          {"title", number.title},
          {"predicted", json_of(number.predicted)},
          {"measured", json_of(number.measured)},
          {"ratio", json_of(number.ratio)},
          {"absent", number.absent},
          {"judged", spread_json(number.judged)},
          {"not_judged", spread_json(number.not_judged)},
          {"outside", whole(number.outside)}};
}

Json row_json(const FamilyRow& row) {
  Json numbers = Json::array();
  for (const FamilyNumber& number : row.numbers) numbers.push_back(number_json(number));
  return {{"kernel", row.kernel},
          {"summary", row.summary},
          {"third_party", row.third_party},
          {"schedule", row.schedule},
          {"pass", row.pass},
          {"records", whole(row.records)},
          {"point", row.point},
          {"implementation", row.implementation},
          {"workload", row.workload},
          {"launches",
           {{"predicted", whole(row.launches_predicted)},
            {"measured", whole(row.launches_measured)},
            {"names", row.launch_names}}},
          {"quantities", std::move(numbers)}};
}

Json change_json(const LadderChange& change) {
  return {{"quantity", change.quantity},
          {"title", change.title},
          {"before", json_of(change.before)},
          {"after", json_of(change.after)},
          {"factor", json_of(change.factor)},
          {"counted_before", json_of(change.counted_before)},
          {"counted_after", json_of(change.counted_after)},
          {"counted_factor", json_of(change.counted_factor)}};
}

Json gain_json(const std::optional<Gain>& gain) {
  if (!gain) return nullptr;
  Json changes = Json::array();
  for (const LadderChange& change : gain->changes) changes.push_back(change_json(change));
  return {{"factor", json_of(gain->factor)},
          {"predicted_factor", json_of(gain->predicted_factor)},
          {"nearness_factor", json_of(gain->nearness_factor)},
          {"cycles_factor", json_of(gain->cycles_factor)},
          {"bound_before", gain->bound_before},
          {"bound_before_seconds", json_of(gain->bound_before_seconds)},
          {"bound_before_seconds_now", json_of(gain->bound_before_seconds_now)},
          {"path_changed", gain->path_changed},
          {"changes", std::move(changes)}};
}

Json clocks_json(const std::optional<ClockState>& clocks) {
  if (!clocks) return nullptr;
  return {{"sm_hz", json_of(clocks->sm_hz)},
          {"power_w", json_of(clocks->power_w)},
          {"power_limit_w", json_of(clocks->power_limit_w)},
          {"throttle", clocks->throttle}};
}

Json step_json(const LadderStep& step) {
  return {{"kernel", step.kernel},
          {"summary", step.summary},
          {"third_party", step.third_party},
          {"implementation", step.implementation},
          {"point", step.point},
          {"variants", whole(step.variants)},
          {"seconds", json_of(step.seconds)},
          {"predicted_seconds", json_of(step.predicted_seconds)},
          {"bound_by", step.bound_by},
          {"nearness", json_of(step.nearness)},
          {"flop_per_second", json_of(step.flop_per_second)},
          {"predicted_flop_per_second", json_of(step.predicted_flop_per_second)},
          {"kv_bytes", json_of(step.kv_bytes)},
          {"kv_bytes_per_second", json_of(step.kv_bytes_per_second)},
          {"path", step.path},
          {"path_flop_per_second", json_of(step.path_flop_per_second)},
          {"clocks", clocks_json(step.clocks)},
          {"gain", gain_json(step.gain)}};
}

Json ladder_json(const Ladder& ladder) {
  Json steps = Json::array();
  for (const LadderStep& step : ladder.steps) steps.push_back(step_json(step));
  return {{"title", ladder.title},           {"pass", ladder.pass},       {"kind", to_string(ladder.kind)},
          {"model_flop", ladder.model_flop}, {"fits_l2", ladder.fits_l2}, {"steps", std::move(steps)}};
}

}  // namespace

Json to_json(const FamilyPage& family) {
  Json rows = Json::array(), ladders = Json::array();
  for (const FamilyRow& row : family.rows) rows.push_back(row_json(row));
  for (const Ladder& ladder : family.ladders) ladders.push_back(ladder_json(ladder));
  return {{"schema", "tilescope/family/1"},
          {"title", family.title},
          {"generated", family.generated},
          {"revision", family.revision},
          {"hardware", {{"id", family.hardware.id}, {"name", family.hardware.name}, {"chip", family.hardware.chip}}},
          {"points", whole(family.points)},
          {"kernels", std::move(rows)},
          {"ladders", std::move(ladders)}};
}

}  // namespace tilescope::analysis
