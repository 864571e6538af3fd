#include "predict/explain/ideal/ideal_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "diagram/pass.h"

namespace tilescope {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t most_decoded = 16;  // queries, as validate/tools/ideal_errors.py counts them

double positive(const ordered_json& row, const char* key) {
  const double value = row.at(key).get<double>();
  if (!std::isfinite(value) || value <= 0 || value > 1e6)
    throw std::runtime_error(fmt::format("{} must be above 0 and at most 1e6, found {}", key, value));
  return value;
}

std::string text_or_none(const ordered_json& row, const char* key) {
  return row.at(key).is_null() ? "" : row.at(key).get<std::string>();
}

IdealRow read_ideal_row(const ordered_json& json) {
  return {.of = {.hardware = text_or_none(json, "hardware"),
                 .chip = {},
                 .schedule = text_or_none(json, "schedule"),
                 .pass = text_or_none(json, "pass"),
                 .phase = text_or_none(json, "phase"),
                 .mask = text_or_none(json, "mask")},
          .mape = positive(json, "mape"),
          .p90 = positive(json, "p90"),
          .n = json.at("n").get<std::int64_t>(),
          .range = {.least = positive(json, "least"),
                    .low = positive(json, "low"),
                    .median = positive(json, "median"),
                    .high = positive(json, "high"),
                    .most = positive(json, "most"),
                    .kernels = json.at("kernels").get<std::int64_t>()}};
}

std::string described(const IdealQuery& of) {
  const std::string regime = of.phase.empty() ? "" : fmt::format(" {}, mask {}", of.phase, of.mask);
  return fmt::format("{} {}{} on {}", of.schedule.empty() ? "all schedules," : of.schedule, of.pass, regime,
                     of.hardware.empty() ? "all recorded GPUs" : of.hardware);
}

}  // namespace

IdealQuery ideal_query(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  return {.hardware = hardware.id,
          .chip = hardware.chip,
          .schedule = plan.schedule.name,
          .pass = to_string(pass_of(plan.schedule.diagram)),
          .phase = point.workload.q_len <= most_decoded ? "decode" : "prefill",
          .mask = std::string(point.mask.row().name)};
}

IdealErrors IdealErrors::load(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return {};
  try {
    const ordered_json json = ordered_json::parse(read_file(file));
    if (json.at("schema") != "tilescope/ideal-errors/1")
      throw std::runtime_error("expected schema tilescope/ideal-errors/1");
    IdealErrors errors;
    for (const ordered_json& row : json.at("rows")) errors.rows_.push_back(read_ideal_row(row));
    for (const ordered_json& one : json.at("widening"))
      errors.widening_[one.at("cause").get<std::string>()] = std::max(1.0, positive(one, "factor"));
    for (const auto& [gpu, chip] : json.at("chips").items()) errors.chips_[gpu] = chip.get<std::string>();
    return errors;
  } catch (const std::runtime_error& error) {
    throw InputError(Diagnostic{.file = file.string(),
                                .message = fmt::format("is not an error summary; write it with "
                                                       "validate/tools/ideal_errors.py: {}",
                                                       error.what())});
  } catch (const ordered_json::exception& error) {
    throw InputError(Diagnostic{.file = file.string(),
                                .message = fmt::format("is not an error summary; write it with "
                                                       "validate/tools/ideal_errors.py: {}",
                                                       error.what())});
  }
}

const IdealRow* IdealErrors::row(const IdealQuery& of) const {
  const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const IdealRow& each) {
    return each.of.hardware == of.hardware && each.of.schedule == of.schedule && each.of.pass == of.pass &&
           each.of.phase == of.phase && each.of.mask == of.mask && each.n >= enough_errors;
  });
  return found == rows_.end() ? nullptr : &*found;
}

double IdealErrors::factor(const std::string& cause) const {
  const auto found = widening_.find(cause);
  return found == widening_.end() ? 1 : found->second;
}

std::optional<TimeError> IdealErrors::find(const IdealQuery& query) const {
  const bool known_chip =
      std::any_of(chips_.begin(), chips_.end(), [&](const auto& gpu) { return gpu.second == query.chip; });
  const char* other_gpu = known_chip ? "gpu" : "chip";
  struct Lender {
    bool gpu, schedule, regime;  // kept
  };
  // Nearest first.
  for (const Lender& lender : {Lender{true, true, true}, Lender{true, true, false}, Lender{false, true, true},
                               Lender{false, true, false}, Lender{true, false, false}, Lender{false, false, false}}) {
    IdealQuery of = query;
    double widened = 1;
    if (!lender.gpu) of.hardware.clear(), widened *= factor(other_gpu);
    if (!lender.schedule) of.schedule.clear(), widened *= factor("schedule");
    if (!lender.regime) of.phase.clear(), of.mask.clear(), widened *= lender.schedule ? factor("regime") : 1;
    const IdealRow* found = row(of);
    if (!found) continue;
    const MeasuredRange& range = found->range;
    return TimeError{.mape = widened * found->mape,
                     .p90 = widened * found->p90,
                     .n = found->n,
                     .basis = fmt::format("{} points of {}, the fastest of {} recorded kernels at each", found->n,
                                          described(of), range.kernels),
                     .borrowed_from = lender.gpu && lender.schedule && lender.regime ? "" : described(of),
                     .widened = widened,
                     .range = MeasuredRange{.least = range.least / widened,
                                            .low = range.low / widened,
                                            .median = range.median,
                                            .high = range.high * widened,
                                            .most = range.most * widened,
                                            .kernels = range.kernels}};
  }
  return std::nullopt;
}

}  // namespace tilescope
