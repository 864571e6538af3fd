#include "launches/rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilescope::launches {
namespace {

std::string sizes_label(const validate::MeasurePoint& point) {
  const validate::PointWorkload& w = point.workload;
  const std::string heads =
      w.heads_q == w.heads_kv ? fmt::format("{}", w.heads_q) : fmt::format("{}/{}", w.heads_q, w.heads_kv);
  const std::string dim = w.d_qk == w.d_v ? fmt::format("{}", w.d_qk) : fmt::format("{}/{}", w.d_qk, w.d_v);
  return fmt::format("{} x {} heads, {} x {}, d{}{}", w.batch, heads, w.q_len, w.kv_len, dim,
                     point.mask == "none" ? "" : ", " + point.mask);
}

std::optional<double> counter_of(const validate::Record& record, const std::optional<Counter>& counter) {
  if (!counter) return std::nullopt;
  const auto found = record.counters.find(counter->metric);
  if (found == record.counters.end()) return std::nullopt;
  return found->second * counter->scale;
}

// What was counted of the quantity with this label, and what is predicted for just that.
PredictedAndCounted compared_value(const Comparison& comparison, const std::vector<const char*>& labels,
                                   double otherwise) {
  for (const char* label : labels)
    for (const ComparisonRow& row : comparison.rows)
      if (row.label() == label) return {row.predicted, row.measured};
  return {otherwise, std::nullopt};
}

void add_helps(const TimePrediction& time, LaunchPrediction& out) {
  const auto most = std::max_element(time.gain.begin(), time.gain.end());
  if (!time.modelled || *most < 0.0005) return;
  out.helps = to_string(static_cast<Lever>(most - time.gain.begin()));
  out.helps_part = *most;
}

LaunchPrediction prediction_of(const Comparison& comparison, const HardwareProfile& hardware) {
  const ComparedPoint& point = comparison.points.front();
  const Prediction& p = point.prediction;
  const auto bytes = [&](LevelId level, int direction) {
    return static_cast<double>(p.traffic[level][static_cast<std::size_t>(direction)]);
  };
  LaunchPrediction out;
  out.sizes = sizes_label(point.record.point);
  out.seconds =
      compared_value(comparison, {"seconds_program", "seconds", "seconds_cold"}, p.time.total - p.time.launch);
  out.flop = compared_value(comparison, {"tensor_flop"}, static_cast<double>(p.work.tensor_flop));
  out.l2_read = compared_value(comparison, {"traffic l2 read"}, bytes(LevelId::l2, 0));
  out.l2_write = compared_value(comparison, {"traffic l2 write"}, bytes(LevelId::l2, 1));
  out.smem_read =
      compared_value(comparison, {"traffic smem read", "thread_traffic smem read"}, bytes(LevelId::smem, 0));
  // Warm caches serve a part of what is predicted for cold ones, so that only cold launches are compared.
  out.hbm_read.predicted = bytes(LevelId::hbm, 0), out.hbm_write.predicted = bytes(LevelId::hbm, 1);
  if (const MemoryLevel* hbm = hardware.level(LevelId::hbm)) {
    out.hbm_read.counted = counter_of(point.record, hbm->counters.read);
    out.hbm_write.counted = counter_of(point.record, hbm->counters.write);
  }
  out.operand_bytes = static_cast<double>(p.operand_bytes);
  out.bound_by = to_string(p.time.bound_by);
  add_helps(p.time, out);
  out.compared = comparison.rows;
  return out;
}

void add_prediction(LaunchRow& row, const std::filesystem::path& data_directory, const validate::Experiment& gate) {
  Comparer comparer(
      data_directory, [&](const std::string&) -> const validate::Experiment& { return gate; }, Keep::points, 1);
  try {
    comparer.add(*row.launches.record);
    const Comparison comparison = comparer.finish();
    if (!comparison.skipped.empty()) {
      row.launches.missing.push_back(comparison.skipped.front().reason);
    } else {
      const HardwareProfile hardware = ProfileCatalogue(data_directory / "hardware")
                                           .find(row.launches.record->environment.hardware, RatesFrom::stated);
      row.prediction = prediction_of(comparison, hardware);
      for (ComparisonRow& compared : row.prediction->compared) compared.kernel = row.launches.kernel;
    }
  } catch (const InputError& error) {
    row.launches.missing.push_back(error.diagnostics().front().message);
  }
}

}  // namespace

std::vector<LaunchRow> launch_rows(const ProgramLaunches& program, const std::filesystem::path& data_directory,
                                   const validate::Experiment& gate) {
  std::vector<LaunchRow> rows;
  for (const AttentionLaunches& launches : program.attention) {
    LaunchRow& row = rows.emplace_back(LaunchRow{launches, {}});
    if (row.launches.record) add_prediction(row, data_directory, gate);
  }
  return rows;
}

RowCounts gate_counts(const std::vector<LaunchRow>& rows) {
  RowCounts counts;
  for (const LaunchRow& row : rows) {
    if (!row.prediction) continue;
    const RowCounts own = counts_of(row.prediction->compared);
    counts.judged += own.judged, counts.failed += own.failed, counts.shown += own.shown;
  }
  return counts;
}

}  // namespace tilescope::launches
