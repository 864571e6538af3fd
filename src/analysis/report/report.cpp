#include "analysis/report/report.h"

#include <map>
#include <set>
#include <tuple>

#include "analysis/number.h"
#include "analysis/report/roofs.h"
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

ReportPoint point_of(const ComparedPoint& compared, const HardwareProfile& hardware) {
  const std::vector<Array>& arrays = compared.plan.schedule.diagram.arrays;
  ReportPoint point{.id = point_id(compared.record.point),
                    .kernel = compared.record.point.kernel,
                    .label = record_label(compared.record.point),
                    .bound_by = to_string(compared.prediction.time.bound_by),
                    .predicted = predicted_side(compared.prediction),
                    .measured = measured_side(compared, hardware)};
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (arrays[i].dtype_key == "q") point.dtype = to_string(compared.point.dtypes[i]);
  return point;
}

ReportRow row_of(const ComparisonRow& row) {
  return {.point = row.point,
          .kernel = row.kernel,
          .quantity = row.quantity + (row.direction.empty() ? "" : " " + row.direction),
          .level = row.level,
          .predicted = finite(row.predicted),
          .measured = finite(row.measured),
          .ratio = row.measured == 0 ? Number() : finite(row.predicted / row.measured),
          .tolerance = row.tolerance,
          .verdict = row.verdict,
          .reason = row.reason};
}

Summary summary_of(const SummaryRow& row) {
  return {.kernel = row.kernel,
          .quantity = row.quantity,
          .n = static_cast<double>(row.n),
          .failed = static_cast<double>(row.failed),
          .mean = finite(row.mean),
          .median = finite(row.median),
          .p90 = finite(row.p90),
          .worst = finite(row.worst)};
}

// The largest unmasked point of a single-kernel schedule: the one worth explaining and searching around.
const ComparedPoint* showcase(const Comparison& comparison) {
  const ComparedPoint* best = nullptr;
  for (const ComparedPoint& compared : comparison.points) {
    if (compared.plan.schedule.islands.size() != 1 || compared.point.mask.masks()) continue;
    const auto size = [](const ComparedPoint& p) {
      return std::tuple(p.point.workload.d_qk == 128, p.record.point.workload.q_len == 4096,
                        p.prediction.work.tensor_flop, p.record.point.tile_q * p.record.point.tile_kv);
    };
    if (!best || size(compared) > size(*best)) best = &compared;
  }
  return best;
}

}  // namespace

Report report_of(const Comparison& comparison, const HardwareProfile& hardware, const std::string& revision,
                 const std::string& date) {
  Report report{.title = "Predicted and measured bytes of attention on " + hardware.name,
                .generated = date,
                .revision = revision};
  std::set<std::string> dtypes;
  for (const ComparedPoint& compared : comparison.points) {
    dtypes.insert(to_string(compared.record.point.dtype));
    report.points.push_back(point_of(compared, hardware));
  }
  name_points(report.points);
  report.hardware = {.id = hardware.id,
                     .name = hardware.name,
                     .chip = hardware.chip,
                     .roofs = roofs(hardware),
                     .peaks = peaks(hardware, dtypes)};
  for (const ComparisonRow& row : comparison.rows) report.rows.push_back(row_of(row));
  for (const SummaryRow& row : comparison.summary) report.summary.push_back(summary_of(row));
  if (const ComparedPoint* shown = showcase(comparison)) {
    report.tile_map = tile_map_of(*shown, hardware);
    report.derivation = derivation_of(*shown, hardware);
  }
  return report;
}

}  // namespace tilescope::analysis
