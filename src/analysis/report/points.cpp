#include "analysis/report/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/pictures/pictures.h"
#include "analysis/report/roofs.h"
#include "predict/explain/labels.h"
#include "predict/explain/row_columns.h"
#include "records/record_label.h"

namespace tilescope::analysis {
namespace {

Side predicted_side(const Prediction& prediction) {
  Side side{.seconds = finite(prediction.time.total), .clock_hz = finite(prediction.time.clock_hz)};
  for (const LevelId boundary : counted_levels) {
    if (!counted_in(prediction, boundary)) continue;
    Traffic& traffic = side.traffic.emplace_back(Traffic{.level = to_string(boundary)});
    if (boundary == Boundary::smem && !prediction.smem_modelled) continue;
    const auto& bytes = prediction.traffic[boundary];
    traffic.read_bytes = static_cast<double>(bytes[0]), traffic.write_bytes = static_cast<double>(bytes[1]);
    if (boundary == Boundary::smem) traffic.operand_read_bytes = static_cast<double>(prediction.operand_bytes);
  }
  const Work& work = prediction.work;
  const auto add = [&](const std::string& name, auto count) { side.work.emplace_back(name, count); };
  add("tensor_flop", work.tensor_flop), add("model_flop", work.model_flop), add("clipped_flop", work.clipped_flop);
  add("fma_flop", work.fma_flop()), add("exp", work.exp);
  for (std::size_t i = 0; i < pipe_count; ++i) add(to_string(static_cast<Pipe>(i)), work.pipes[i]);
  return side;
}

Side measured_side(const ComparedPoint& compared, const HardwareProfile& hardware) {
  Side side{.seconds = 0, .seconds_cold = 0};
  std::map<std::string, Traffic> levels;
  for (const Measured& m : measured_quantities(compared.record, hardware, compared.plan, compared.prediction)) {
    if (m.quantity == "traffic")
      (m.direction == "read" ? levels[m.level].read_bytes : levels[m.level].write_bytes) = m.value;
    else if (m.quantity == "operand_bytes") levels[m.level].operand_read_bytes = m.value;
    else if (m.quantity == "seconds") side.seconds = m.value;
    else if (m.quantity == "seconds_cold") side.seconds_cold = m.value;
    else set_count(side.work, m.quantity, m.value);  // of several levels the last one stands
  }
  for (const LevelId id : counted_levels)
    if (const auto found = levels.find(to_string(id)); found != levels.end()) {
      found->second.level = to_string(id);
      side.traffic.push_back(found->second);
    }
  if (compared.record.clocks) side.clock_hz = compared.record.clocks->sm_hz;
  return side;
}

// The format of queries, or of the first array where there are none: whose peak bounds the point.
std::string main_format(const Plan& plan, const Point& point) {
  const std::vector<Array>& arrays = plan.schedule.diagram.arrays;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (arrays[i].dtype_key == "q") return to_string(point.dtypes[i]);
  return arrays.empty() ? "" : to_string(point.dtypes[0]);
}

std::string kernel_name(const Plan& plan) { return plan.assumed ? "ideal " + plan.schedule.name : plan.kernel.name; }

// What the model says of the point beside its bytes and counts.
void add_prediction(const PredictedPoint& row, ReportPoint& point) {
  const TimePrediction& time = row.prediction->time;
  point.gpu = row.hardware.id;
  point.dtype = main_format(row.plan, row.point);
  point.formats = dtype_label(row.plan, row.point);
  point.tile = tile_label(row.plan, row.point);
  point.bound_by = to_string(time.bound_by);
  point.modelled = time.modelled;
  point.predicted = predicted_side(*row.prediction);
  if (const auto& error = row.options.error)
    point.error = StatedError{error->p90, static_cast<double>(error->n), error->borrowed_from};
  if (!time.modelled) return;
  point.split = time_split(*row.prediction, row.hardware);
  for (const GainRow& gain : gain_rows(*row.prediction))
    if (gain.part > 0) point.savings.push_back({to_string(gain.lever), gain.part});
  std::stable_sort(point.savings.begin(), point.savings.end(),
                   [](const Saving& a, const Saving& b) { return a.part > b.part; });
}

// "N4096 d128 B8 H32/8 causal", or the sizes of a diagram that is no attention.
std::string sizes_label(const PredictedPoint& row) {
  const Workload& w = row.point.workload;
  std::string text = w.q_len == w.kv_len ? fmt::format("N{}", w.q_len) : fmt::format("N{}x{}", w.q_len, w.kv_len);
  text += w.d_qk == w.d_v ? fmt::format(" d{}", w.d_qk) : fmt::format(" d{}/{}", w.d_qk, w.d_v);
  if (w.batch > 1) text += fmt::format(" B{}", w.batch);
  text += w.heads_q == w.heads_kv ? fmt::format(" H{}", w.heads_q) : fmt::format(" H{}/{}", w.heads_q, w.heads_kv);
  return text + (row.point.mask.masks() ? " " + row.point.mask.text : "");
}

}  // namespace

std::string label_of(const PredictedPoint& row) {
  return fmt::format("{} {} {} {}", kernel_name(row.plan), dtype_label(row.plan, row.point), sizes_label(row),
                     row.hardware.id);
}

ReportPoint point_of(const PredictedPoint& row) {
  ReportPoint point{.kernel = kernel_name(row.plan), .label = label_of(row)};
  add_prediction(row, point);
  point.id = point.label + " " + point.tile;
  return point;
}

ReportPoint point_of(const ComparedPoint& compared, const HardwareProfile& hardware) {
  ReportPoint point{.id = point_id(compared.record.point),
                    .kernel = compared.record.point.kernel,
                    .label = record_label(compared.record.point)};
  const JsonOptions no_errors;
  add_prediction({compared.plan, hardware, compared.point, &compared.prediction, no_errors}, point);
  point.measured = measured_side(compared, hardware);
  return point;
}

Hardware hardware_of(const HardwareProfile& hardware, const std::set<std::string>& dtypes) {
  return {.id = hardware.id,
          .name = hardware.name,
          .chip = hardware.chip,
          .roofs = roofs(hardware),
          .peaks = peaks(hardware, dtypes)};
}

}  // namespace tilescope::analysis
