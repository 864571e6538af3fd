#include "compare/gate/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/text.h"
#include "predict/explain/prediction_json.h"

namespace tilescope {
namespace {

std::string term_name(const Plan& plan, const Term& term) {
  const std::string cause = term.cause == Cause::tile ? "" : cause_name(term.cause);
  if (term.array < 0) return cause;
  const std::string& array = plan.schedule.diagram.arrays[static_cast<std::size_t>(term.array)].name;
  return cause.empty() ? array : array + " " + cause;
}

std::vector<PredictedPart> bytes_by_array(const Plan& plan, const Prediction& prediction, const Measured& measured) {
  std::map<std::string, double> bytes;
  for (const Term& term : prediction.terms)
    if (to_string(term.boundary) == measured.level && to_string(term.direction) == measured.direction)
      bytes[term_name(plan, term)] += static_cast<double>(term.bytes);
  std::vector<PredictedPart> parts;
  for (const auto& [name, value] : bytes) parts.push_back({name, value});
  return parts;
}

constexpr std::array<const char*, sm_unit_count> unit_names{"tensor", "smem", "xu", "fma", "alu", "issue"};

// Seconds that all SMs would be busy with one unit alone, at the highest clock, summed over launches.
double unit_seconds(const HardwareProfile& hardware, const Prediction& prediction, std::size_t unit) {
  double seconds = 0;
  for (const IslandPrediction& island : prediction.islands)
    if (island.highest_hz > 0)
      seconds += island.unit_clocks[unit] / island.highest_hz / static_cast<double>(hardware.units.value);
  return seconds;
}

// `steady`: run after run, at the clock of the power limit.
std::vector<PredictedPart> seconds_by_cause(const HardwareProfile& hardware, const Prediction& prediction,
                                            bool steady) {
  const TimePrediction& time = prediction.time;
  std::vector<PredictedPart> parts;
  if (steady && time.modelled && time.clock_hz > 0) {
    const double all_busy = time.total - time.launch, busy = std::min(time.busy_cycles / time.clock_hz, all_busy);
    parts.push_back({"SMs busy", busy});
    parts.push_back({"SMs waiting", all_busy - busy});
    parts.push_back({"between kernels", time.launch});
  }
  for (int i = 0; i < resource_count; ++i) {
    const auto resource = static_cast<Resource>(i);
    const double seconds = time.seconds[static_cast<std::size_t>(i)];
    if (seconds >= 0 && (!time.modelled || of_whole_device(resource)))
      parts.push_back({to_string(resource) + " alone", seconds});
  }
  for (std::size_t unit = 0; time.modelled && unit < unit_names.size(); ++unit)
    parts.push_back({std::string(unit_names[unit]) + " alone", unit_seconds(hardware, prediction, unit)});
  return parts;
}

std::vector<PredictedPart> operations_of_pipe(const Work& work, std::size_t pipe) {
  const std::int64_t other = work.of_outputs[pipe] + work.of_threads[pipe] + work.outside[pipe];
  return {{"of scores and rows", static_cast<double>(std::max<std::int64_t>(0, work.pipes[pipe] - other))},
          {"of outputs", static_cast<double>(work.of_outputs[pipe])},
          {"of threads and steps", static_cast<double>(work.of_threads[pipe])},
          {"outside of steps", static_cast<double>(work.outside[pipe])}};
}

std::vector<PredictedPart> by_launch(const Plan& plan, const Prediction& prediction, std::int64_t Work::*count) {
  std::vector<PredictedPart> parts;
  for (std::size_t i = 0; i < prediction.islands.size() && i < plan.schedule.islands.size(); ++i)
    parts.push_back({plan.schedule.islands[i].name, static_cast<double>(prediction.islands[i].work.*count)});
  return parts;
}

std::vector<PredictedPart> all_parts(const Plan& plan, const HardwareProfile& hardware, const Prediction& prediction,
                                     const Measured& measured) {
  const std::string& quantity = measured.quantity;
  if (quantity == "traffic" || quantity == "thread_traffic") return bytes_by_array(plan, prediction, measured);
  if (quantity == "seconds_cold") return seconds_by_cause(hardware, prediction, false);
  if (quantity.starts_with("seconds") || quantity == "busy_cycles") return seconds_by_cause(hardware, prediction, true);
  if (quantity == "tensor_flop") return by_launch(plan, prediction, &Work::tensor_flop);
  if (quantity == "instructions") return by_launch(plan, prediction, &Work::instructions);
  if (quantity == "alu_instructions") return by_launch(plan, prediction, &Work::alu_instructions);
  for (std::size_t i = 0; i < pipe_count; ++i)
    if (to_string(static_cast<Pipe>(i)) == quantity) return operations_of_pipe(prediction.work, i);
  return {};
}

// "+16,384" or, of seconds, "+1.25 us".
std::string shown_change(double change) {
  if (change == std::floor(change) && std::abs(change) < 9e15)
    return (change > 0 ? "+" : "") + with_thousands(static_cast<long long>(change));
  return fmt::format("{:+.4g} us", change * 1e6);
}

}  // namespace

std::vector<PredictedPart> predicted_parts(const Plan& plan, const HardwareProfile& hardware,
                                           const Prediction& prediction, const Measured& measured) {
  std::vector<PredictedPart> parts = all_parts(plan, hardware, prediction, measured);
  if (parts.size() < 2) parts.clear();
  return parts;
}

std::string moved_parts(const std::vector<PredictedPart>& before, const std::vector<PredictedPart>& now) {
  if (before.empty() || now.empty()) return "";
  std::map<std::string, double> changes;
  for (const PredictedPart& part : now) changes[part.name] += part.value;
  for (const PredictedPart& part : before) changes[part.name] -= part.value;
  std::vector<PredictedPart> moved;
  for (const auto& [name, change] : changes)
    if (change != 0) moved.push_back({name, change});
  std::stable_sort(moved.begin(), moved.end(), [](const PredictedPart& a, const PredictedPart& b) {
    return std::abs(a.value) > std::abs(b.value);
  });
  constexpr std::size_t most = 2;
  constexpr double least = 0.01;  // of the largest move
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(most, moved.size()); ++i)
    if (std::abs(moved[i].value) >= least * std::abs(moved[0].value))
      shown.push_back(moved[i].name + " " + shown_change(moved[i].value));
  return join(shown, ", ");
}

}  // namespace tilescope
