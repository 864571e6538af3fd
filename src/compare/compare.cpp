#include "compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/parallel.h"
#include "compare/gate/parts.h"
#include "compare/one_launch.h"
#include "diagram/block_mask.h"
#include "hardware/held_clock.h"
#include "predict/explain/prediction_columns.h"
#include "predict/point/support.h"
#include "predict/predict.h"

namespace tilescope {
double predicted_value(const Prediction& prediction, const Measured& measured) {
  if (measured.quantity == "tensor_flop") return static_cast<double>(prediction.work.tensor_flop);
  if (measured.quantity ==
      "thread_traffic") {  // of threads and matrix instructions: no counter sees bulk copies in shared memory
    const std::size_t d = measured.direction == "write";
    return static_cast<double>(prediction.traffic[Boundary::smem][d] - prediction.bulk_smem[d]);
  }
  if (measured.quantity == "instructions") return static_cast<double>(prediction.work.instructions);
  if (measured.quantity == "alu_instructions") return static_cast<double>(prediction.work.alu_instructions);
  if (measured.quantity == "operand_bytes") return static_cast<double>(prediction.operand_bytes);
  if (measured.quantity == "seconds") return prediction.time.total;
  if (measured.quantity == host_seconds_quantity) return std::max(prediction.time.total, prediction.time.host);
  if (measured.quantity == "seconds_program") return prediction.time.total - prediction.time.launch;
  if (measured.quantity == "seconds_cold") return prediction.time.cold;
  if (measured.quantity == "busy_cycles") return prediction.time.busy_cycles;
  if (measured.quantity == "traffic")
    if (const auto level = parse_kind<LevelId>(measured.level))
      return static_cast<double>(prediction.traffic[*level][measured.direction == "write"]);
  for (std::size_t i = 0; i < pipe_count; ++i)
    if (to_string(static_cast<Pipe>(i)) == measured.quantity) return static_cast<double>(prediction.work.pipes[i]);
  throw std::logic_error("no prediction for quantity " + measured.quantity);
}

// Counters and times of a launch whose result is wrong say nothing.
void require_right_result(const validate::Record& record) {
  if (!record.correctness || record.correctness->passed) return;
  throw InputError(Diagnostic{
      .file = record.file,
      .path = "correctness.passed",
      .message =
          fmt::format("is false: the kernel's result was wrong (largest error {:.3g}, tolerance {:.3g}); measure "
                      "the point again, or remove the record of {}",
                      record.correctness->max_error, record.correctness->tolerance, point_id(record.point))});
}

namespace {

bool spills(const validate::Record& record) {
  return std::any_of(record.islands.begin(), record.islands.end(),
                     [](const auto& island) { return island.launch.local_bytes_per_thread.value_or(0) > 0; });
}

// Why a time says nothing of the kernel alone; empty: it does, or nobody looked.
std::string disturbed_time(const validate::Record& record, const std::string& quantity) {
  if (!quantity.starts_with("seconds") || !record.clocks || record.clocks->other_processes.value_or(0) == 0) return "";
  return fmt::format("not judged: other processes had the GPU open: {}", *record.clocks->other_processes);
}

std::string workload_id(validate::MeasurePoint point) {
  point.tile_q = point.tile_kv = point.warps = point.stages = point.splits = 0;
  return point_id(point);
}

// What blocks read again is predicted to stay in L2, but for one percent of the traffic.
bool reuse_fits_l2(const Prediction& prediction) {
  std::int64_t all = 0, missed = 0;
  for (const Term& term : prediction.terms)
    if (term.boundary == Boundary::hbm) all += term.bytes, missed += term.fits_cache ? 0 : term.bytes;
  return missed * 100 <= all;
}

void judge(const validate::Experiment& experiment, const ComparedPoint& compared, ComparisonRow& row) {
  if (row.quantity == host_seconds_quantity)
    return void(row.reason = "not judged: the host set the pace, so it is no time of the GPU; see seconds_cold");
  const validate::ToleranceQuery query{row.quantity,
                                       row.level,
                                       row.direction,
                                       compared.record.point,
                                       spills(compared.record),
                                       reuse_fits_l2(compared.prediction)};
  const validate::Tolerance* tolerance = find_tolerance(experiment, query);
  if (!tolerance) return;
  if (const std::string disturbed = disturbed_time(compared.record, row.quantity); !disturbed.empty())
    return void(row.reason = disturbed);
  row.reason = tolerance->reason;
  if (!tolerance->tolerance) return;
  row.tolerance = tolerance->tolerance;
  row.slack = tolerance->slack;
  const double allowed = *row.tolerance * row.predicted + row.slack;
  row.verdict = std::abs(row.predicted - row.measured) <= allowed ? Verdict::pass : Verdict::fail;
}

}  // namespace

double ComparisonRow::relative_error() const {
  if (measured == 0) return predicted == 0 ? 0 : std::numeric_limits<double>::infinity();
  return std::abs(predicted - measured) / measured;
}

std::string ComparisonRow::label() const {
  return quantity + (level.empty() ? "" : " " + level) + (direction.empty() ? "" : " " + direction);
}

RowCounts counts_of(const std::vector<ComparisonRow>& rows) {
  RowCounts counts;
  for (const ComparisonRow& row : rows) {
    counts.judged += row.verdict != Verdict::info;
    counts.failed += row.verdict == Verdict::fail;
    counts.shown += row.verdict == Verdict::info;
  }
  return counts;
}

bool Comparison::passed() const {
  const RowCounts counts = counts_of(rows);
  return counts.judged > 0 && counts.failed == 0;
}

namespace {

std::vector<const KernelVariant*> built_for(const Plan& plan, const Point& point) {
  std::vector<const KernelVariant*> built;
  for (const KernelVariant& variant : plan.kernel.variants)
    if (serves(plan, point, variant)) built.push_back(&variant);
  return built;
}

}  // namespace

Point model_point(const validate::Record& record, const Plan& plan, const std::filesystem::path& data_directory) {
  Point point = default_point(plan);
  const validate::PointWorkload& w = record.point.workload;
  point.workload = {w.batch, w.heads_q, w.heads_kv, w.q_len, w.kv_len, w.d_qk, w.d_v};
  const auto mask =
      load_mask(record.point.mask, data_directory, guarded_lengths(plan.schedule.diagram, point.workload));
  if (!mask)
    throw InputError(Diagnostic{
        .file = record.file, .path = "point.mask", .message = fmt::format("unknown mask '{}'", record.point.mask)});
  point.mask = *mask;
  set_dtype(point, plan.schedule.diagram, "", Dtype{record.point.dtype});
  for (const auto& [key, dtype] : record.point.dtypes)
    if (!set_dtype(point, plan.schedule.diagram, key, dtype))
      throw InputError(
          Diagnostic{.file = record.file,
                     .path = "point.dtypes." + key,
                     .message = fmt::format("kernel '{}' has no array of that dtype key", plan.kernel.name)});
  const auto set = [&](const char* name, std::int64_t value) {
    const int position = plan.schedule.find_parameter(name);
    if (position >= 0 && value > 0) point.tiles[static_cast<std::size_t>(position)] = value;
  };
  const std::vector<const KernelVariant*> built = built_for(plan, point);
  const KernelVariant* only = built.size() == 1 ? built.front() : nullptr;
  set("q", record.point.tile_q ? record.point.tile_q : only ? only->tile_q : 0);
  set("splits", std::max<std::int64_t>(1, record.point.splits));
  set("kv", record.point.tile_kv ? record.point.tile_kv : only ? only->tile_kv : 0);
  point.warps = record.point.warps ? record.point.warps : only ? only->warps : point.warps;
  point.stages = record.point.stages;
  point.l2 = L2Model::walk;
  if (!record.islands.empty() && record.islands.size() == 1)
    point.blocks_per_unit = record.islands.front().launch.blocks_per_unit;
  return point;
}

void require_possible(const validate::Record& record, const Plan& plan, const HardwareProfile& hardware,
                      const Point& point) {
  std::vector<Diagnostic> findings;
  const auto report = [&](std::string path, std::string message) {
    findings.push_back({.file = record.file, .path = std::move(path), .message = std::move(message)});
  };
  if (const std::size_t built = built_for(plan, point).size(); built > 1) {
    const auto stated = [&](const char* path, const char* parameter, std::int64_t size) {
      if (size == 0 && plan.schedule.find_parameter(parameter) >= 0)
        report(path, fmt::format("is 0: kernel '{}' is built for {} tiles, so a record names the one that ran",
                                 plan.kernel.name, built));
    };
    stated("point.tile.q", "q", record.point.tile_q), stated("point.tile.kv", "kv", record.point.tile_kv);
    stated("point.warps", "q", record.point.warps);
  }
  check_launches(record, plan, hardware, findings);
  if (const std::string reason = unsupported_on(plan, hardware); !reason.empty()) report("hardware", reason);
  if (findings.empty())
    for (const std::string& reason : unsupported(plan, hardware, point)) report("point", reason);
  if (!findings.empty()) throw InputError(std::move(findings));
}

struct ComparedOne {
  ComparedPoint point;
  const Plan* plan = nullptr;
  const HardwareProfile* hardware = nullptr;
  std::optional<HardwareProfile> held = {};  // of a profiler that holds the clock
  std::optional<std::string> skipped = {};
  std::vector<Measured> measured = {};
  std::exception_ptr failed = {};
};

namespace {

// Predicts the record's point; other threads do the same with other records.
void predict_one(ComparedOne& one, Keep keep, TimeChoices time, const std::filesystem::path& data_directory) {
  ComparedPoint& compared = one.point;
  compared.point = model_point(compared.record, *one.plan, data_directory);
  compared.point.time = time;
  require_possible(compared.record, *one.plan, *one.hardware, compared.point);
  if (const auto outside = outside_shapes(one.plan->kernel, *one.hardware, compared.point.workload); !outside.empty())
    return void(one.skipped = outside.front());
  if (keep == Keep::points) compared.plan = *one.plan;  // its prediction names arrays of its plan
  const Plan& plan = keep == Keep::points ? compared.plan : *one.plan;
  predict(plan, *one.hardware, compared.point, compared.prediction, keep == Keep::points ? Wanted::all : Wanted::times);
  if (!compared.prediction.feasible) {  // no time is predicted, and the bytes are of a launch that cannot be
    const JsonOptions none;
    const PredictedPoint row{plan, *one.hardware, compared.point, &compared.prediction, none};
    one.skipped = "predicted to be infeasible: " + no_time_reason(row);
    return;
  }
  if (const int launch = only_launch(compared.record, plan.schedule); launch >= 0)
    keep_launch(launch, compared.prediction);
  one.measured = measured_quantities(compared.record, *one.hardware, *one.plan, compared.prediction);
}

}  // namespace

Comparer::Comparer(const std::filesystem::path& data_directory, ExperimentOf experiment_of, Keep keep,
                   std::size_t records, RatesFrom rates, TimeChoices time, std::size_t threads)
    : catalogue_{.data_directory = data_directory, .plans = {}, .profiles = {}, .rates = rates},
      experiment_of_(std::move(experiment_of)),
      keep_(keep),
      time_(time),
      threads_(threads) {
  if (keep == Keep::points) comparison_.points.reserve(records);
}

// What threads share is read here, one record after the other.
void Comparer::prepare(ComparedOne& one) {
  const validate::Record& record = one.point.record;
  require_right_result(record);
  one.plan = &catalogue_.plan(record.point.kernel);
  one.hardware = &catalogue_.profile(record);
  if (!record.source || record.source->sm_hz <= 0) return;
  one.held = with_clock_held(*one.hardware, record.source->sm_hz);
  one.hardware = &*one.held;
}

void Comparer::append(ComparedOne& one) {
  const ComparedPoint& compared = one.point;
  const validate::Record& record = compared.record;
  const std::string id = point_id(record.point), hardware = one.hardware->id;
  if (one.skipped) return comparison_.skipped.push_back({hardware, record.point.kernel, id, *one.skipped});
  const validate::Experiment& experiment = experiment_of_(record.experiment);
  for (const Measured& measured : one.measured) {
    ComparisonRow row{.experiment = record.experiment,
                      .point = id,
                      .hardware = hardware,
                      .kernel = record.point.kernel,
                      .quantity = measured.quantity,
                      .level = measured.level,
                      .direction = measured.direction,
                      .predicted = predicted_value(compared.prediction, measured),
                      .measured = measured.value,
                      .tolerance = {},
                      .slack = 0,
                      .reason = {},
                      .verdict = Verdict::info,
                      .record = comparison_.records.size(),
                      .parts = predicted_parts(*one.plan, *one.hardware, compared.prediction, measured),
                      .spread = measured.spread};
    judge(experiment, compared, row);
    comparison_.rows.push_back(std::move(row));
  }
  comparison_.records.push_back({hardware, record.point.kernel, id, workload_id(record.point),
                                 regime_of(compared.prediction), error_sizes(compared.point.workload), experiment.blind,
                                 record.clocks ? record.clocks->other_processes.value_or(0) : 0});
  if (keep_ == Keep::points) comparison_.points.push_back(std::move(one.point));
}

void Comparer::add(std::vector<validate::Record> records, const std::function<void(std::exception_ptr)>& after) {
  std::vector<ComparedOne> all;
  all.reserve(records.size());
  for (validate::Record& record : records) {
    ComparedOne& one = all.emplace_back(ComparedOne{.point = {std::move(record), {}, {}, {}}});
    try {
      prepare(one);
    } catch (...) {
      one.failed = std::current_exception();
    }
  }
  const auto attempt = [](ComparedOne& one, const auto& step) {
    if (one.failed) return;
    try {
      step();
    } catch (...) {
      one.failed = std::current_exception();
    }
  };
  in_order(
      all.size(), threads_,
      [&](std::size_t i, std::size_t) {
        attempt(all[i], [&] { predict_one(all[i], keep_, time_, catalogue_.data_directory); });
      },
      [&](std::size_t i, std::size_t) {
        attempt(all[i], [&] { append(all[i]); });
        after(all[i].failed);
        all[i].point = {};  // while other threads work
      },
      all.size());
}

void Comparer::add(std::vector<validate::Record> records) {
  add(std::move(records), [](std::exception_ptr failed) {
    if (failed) std::rethrow_exception(failed);
  });
}

Comparison Comparer::finish() {
  comparison_.summary = summarise(comparison_.rows);
  return std::move(comparison_);
}

Comparison compare_records(const std::vector<validate::Record>& records, const std::filesystem::path& data_directory,
                           const ExperimentOf& experiment_of, std::size_t threads) {
  Comparer comparer(data_directory, experiment_of, Keep::points, records.size(), RatesFrom::stated, TimeChoices{},
                    threads);
  comparer.add(records);
  return comparer.finish();
}

SummaryRow spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  SummaryRow row;
  row.n = values.size();
  for (const double value : values) row.mean += value / static_cast<double>(values.size());
  row.median =
      values.size() % 2 ? values[values.size() / 2] : (values[values.size() / 2 - 1] + values[values.size() / 2]) / 2;
  row.p90 = values[static_cast<std::size_t>(std::ceil(0.9 * static_cast<double>(values.size()))) - 1];
  row.worst = values.back();
  return row;
}

std::vector<SummaryRow> summarise(const std::vector<ComparisonRow>& rows) {
  std::vector<SummaryRow> summary;
  std::vector<std::vector<double>> errors;
  for (const ComparisonRow& row : rows) {
    const std::string label = row.label();
    auto found = std::find_if(summary.begin(), summary.end(),
                              [&](const SummaryRow& s) { return s.kernel == row.kernel && s.quantity == label; });
    if (found == summary.end()) {
      summary.push_back({.kernel = row.kernel, .quantity = label});
      errors.emplace_back();
      found = summary.end() - 1;
    }
    errors[static_cast<std::size_t>(found - summary.begin())].push_back(row.relative_error());
    found->failed += row.verdict == Verdict::fail;
  }
  for (std::size_t i = 0; i < summary.size(); ++i) {
    SummaryRow row = spread(std::move(errors[i]));
    row.kernel = summary[i].kernel, row.quantity = summary[i].quantity, row.failed = summary[i].failed;
    summary[i] = std::move(row);
  }
  std::stable_sort(summary.begin(), summary.end(),
                   [](const SummaryRow& a, const SummaryRow& b) { return a.kernel < b.kernel; });
  return summary;
}

}  // namespace tilescope
