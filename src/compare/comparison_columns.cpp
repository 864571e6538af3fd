#include "compare/comparison_columns.h"

#include <fmt/format.h>

#include <cmath>

#include "compare/lack_costs.h"

namespace tilescope {
namespace {

// Counts are exact integers; times are not.
Json whole_or_real(double value) {
  return value == std::floor(value) && std::abs(value) < 9e15 ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json percent(double relative, int digits) {
  return relative > 1e6 ? Json("infinite") : Json(fmt::format("{:.{}f} %", 100 * relative, digits));
}

// A relative error: a fraction in JSON, percent in text.
template <class Row>
Column<Row> error_column(const char* key, const char* meaning, double Row::*member) {
  return {{key, key, "", meaning, Origin::records},
          [member](const Row& r) { return finite(r.*member); },
          [member](const Row& r) { return percent(r.*member, 3); }};
}

Json score_json(const PublishedScore& score) {
  return {{"n", score.error.n},
          {"mape", finite(score.error.mean)},
          {"median", finite(score.error.median)},
          {"p90", finite(score.error.p90)},
          {"worst", finite(score.error.worst)},
          {"bias", finite(score.bias)},
          {"rank", finite(score.rank)}};
}

std::string bars_text(const PublishedResult& result) {
  std::string bars;
  if (result.most_mape) bars = fmt::format("{:.3g} %", 100 * *result.most_mape);
  if (result.least_rank) bars += fmt::format("{}{:.3g}", bars.empty() ? "" : ", ", *result.least_rank);
  return bars.empty() ? "-" : fmt::format("{}: {}", bars, result.passed() ? "held" : "NOT HELD");
}

Json bars_json(const PublishedResult& result) {
  return {{"mape", result.most_mape ? Json(*result.most_mape) : Json(nullptr)},
          {"rank", result.least_rank ? Json(*result.least_rank) : Json(nullptr)}};
}

}  // namespace

const Columns<AblationRow>& ablation_columns() {
  using R = AblationRow;
  const auto count = [](const char* key, const char* meaning, std::size_t R::*member) -> Column<R> {
    return {{key, key, "", meaning, Origin::records}, [member](const R& r) { return r.*member; }};
  };
  static const Columns<R> columns{
      {{"choice", "choice", "", "Mechanism that is taken out, engine, or all: the model as it is.", Origin::records},
       [](const R& r) { return r.choice; }},
      {{"kernel", "kernel", "", "Kernel of the records, or all.", Origin::records},
       [](const R& r) { return r.kernel; }},
      count("n", "Points over 20 us.", &R::n),
      count("changed", "Points whose SM cycles or seconds changed.", &R::changed),
      error_column<R>("cycles_mean", "Mean error of SM cycles, over 20 us.", &R::cycles_mean),
      error_column<R>("cycles_worst", "Worst error of SM cycles, over 20 us.", &R::cycles_worst),
      error_column<R>("seconds_mean", "Mean error of the time, over 20 us.", &R::seconds_mean),
      error_column<R>("seconds_worst", "Worst error of the time, over 20 us.", &R::seconds_worst),
      error_column<R>("short_mean", "Mean error of the time under 20 us.", &R::short_mean),
      error_column<R>("cycles_gain", "What the error of SM cycles grows without it, mean of the points that changed.",
                      &R::cycles_gain),
      error_column<R>("seconds_gain", "What the error of the time grows without it, mean of the points that changed.",
                      &R::seconds_gain),
      {{"meaning", "meaning", "", "What the mechanism says.", Origin::records}, [](const R& r) { return r.meaning; }},
  };
  return columns;
}

const Columns<ComparisonRow>& comparison_columns() {
  using R = ComparisonRow;
  static const Columns<R> columns{
      json_only<R>({"experiment", "experiment", "", "Experiment of the record.", Origin::records},
                   [](const R& r) { return r.experiment; }),
      {{"point", "point", "", "Id of the recorded point.", Origin::records}, [](const R& r) { return r.point; }},
      json_only<R>({"hardware", "GPU", "", "Id of the GPU that was measured.", Origin::records},
                   [](const R& r) { return r.hardware; }),
      {{"kernel", "kernel", "", "Kernel that was measured.", Origin::records}, [](const R& r) { return r.kernel; }},
      {{"quantity", "quantity", "", "What is compared; text adds the level.", Origin::records},
       [](const R& r) { return r.quantity + (r.direction.empty() ? "" : " " + r.direction); },
       [](const R& r) { return r.label(); }},
      json_only<R>({"level", "level", "", "Memory level of traffic; else empty.", Origin::records},
                   [](const R& r) { return r.level; }),
      json_only<R>({"direction", "direction", "", "Of traffic: read or write; else empty.", Origin::records},
                   [](const R& r) { return r.direction; }),
      {{"predicted", "predicted", "", "Predicted value: bytes, a count, clocks or seconds.", Origin::time_model},
       [](const R& r) { return whole_or_real(r.predicted); }},
      {{"measured", "measured", "", "Measured value, in the same unit.", Origin::measured},
       [](const R& r) { return whole_or_real(r.measured); }},
      {{"ratio", "ratio", "", "predicted / measured; null: measured is 0.", Origin::records},
       [](const R& r) { return r.measured == 0 ? Json(nullptr) : finite(r.predicted / r.measured); }},
      {{"tolerance", "tolerance", "", "Allowed |ratio - 1|; null: the row is not judged.", Origin::question},
       [](const R& r) { return r.tolerance ? Json(*r.tolerance) : Json(nullptr); }},
      {{"slack", "slack", "", "Allowed |predicted - measured|, whatever the ratio.", Origin::question},
       [](const R& r) { return r.slack; }},
      {{"verdict", "verdict", "", "pass, fail, or info: not judged.", Origin::records},
       [](const R& r) { return to_string(r.verdict); }},
      {{"reason", "reason", "", "Why the tolerance is that large.", Origin::question},
       [](const R& r) { return r.reason; }},
      json_only<R>({"spread", "spread", "",
                    "Of a time: range of the middle half of its samples over their median; null: under five samples.",
                    Origin::measured},
                   [](const R& r) { return r.spread ? Json(*r.spread) : Json(nullptr); }),
  };
  return columns;
}

const Columns<SkippedRecord>& skipped_columns() {
  using R = SkippedRecord;
  static const Columns<R> columns{
      {{"hardware", "hardware", "", "Id of the GPU's profile.", Origin::records},
       [](const R& r) { return r.hardware; }},
      {{"point", "point", "", "Id of the recorded point.", Origin::records}, [](const R& r) { return r.point; }},
      {{"kernel", "kernel", "", "Kernel that the record names.", Origin::records}, [](const R& r) { return r.kernel; }},
      {{"reason", "reason", "", "Condition of the descriptor that its sizes do not meet.", Origin::descriptor},
       [](const R& r) { return r.reason; }},
  };
  return columns;
}

const Columns<SummaryRow>& summary_columns() {
  using R = SummaryRow;
  static const Columns<R> columns{
      {{"kernel", "kernel", "", "Kernel that was measured.", Origin::records}, [](const R& r) { return r.kernel; }},
      {{"quantity", "quantity", "", "What is compared, with its level.", Origin::records},
       [](const R& r) { return r.quantity; }},
      {{"n", "n", "", "Rows.", Origin::records}, [](const R& r) { return r.n; }},
      {{"failed", "outside", "", "Judged rows outside their tolerance.", Origin::records},
       [](const R& r) { return r.failed; }},
      error_column("mean", "Mean absolute relative error.", &R::mean),
      error_column("median", "Median absolute relative error.", &R::median),
      error_column("p90", "90th percentile of the absolute relative error.", &R::p90),
      error_column("worst", "Largest absolute relative error.", &R::worst),
  };
  return columns;
}

const Columns<Calibration>& calibration_columns() {
  using R = Calibration;
  static const Columns<R> columns{
      {{"hardware", "hardware", "", "Id of the GPU's profile.", Origin::records},
       [](const R& r) { return r.hardware; }},
      {{"quantity", "quantity", "", "What the error bar is of.", Origin::records},
       [](const R& r) { return r.quantity; }},
      {{"n", "n", "", "Blind points.", Origin::records}, [](const R& r) { return r.n; }},
      {{"held", "held", "", "Of these, within the p90 that all other records state.", Origin::records},
       [](const R& r) { return r.held; }},
      {{"borrowed", "borrowed", "", "Of these, with a bar of another GPU, kernel or regime.", Origin::records},
       [](const R& r) { return r.borrowed; }},
  };
  return columns;
}

const Columns<SearchRegret>& regret_columns() {
  using R = SearchRegret;
  static const Columns<R> columns{
      {{"hardware", "hardware", "", "Id of the GPU's profile.", Origin::records},
       [](const R& r) { return r.hardware; }},
      {{"kernel", "kernel", "", "Kernel whose tiles were measured.", Origin::records},
       [](const R& r) { return r.kernel; }},
      {{"workloads", "workloads", "", "Workloads with at least four recorded tiles.", Origin::records},
       [](const R& r) { return r.workloads; }},
      {{"tiles", "tiles", "", "Recorded tiles of these workloads.", Origin::records},
       [](const R& r) { return r.tiles; }},
      {{"mean", "mean", "",
        "Measured time of the tile predicted to be fastest over that of the fastest tile, less 1; geometric mean.",
        Origin::records},
       [](const R& r) { return r.mean; }},
      {{"worst", "worst", "", "The same of the worst workload.", Origin::records}, [](const R& r) { return r.worst; }},
      {{"worst_workload", "worst_workload", "", "That workload.", Origin::records},
       [](const R& r) { return r.worst_workload; }},
  };
  return columns;
}

const Columns<PublishedResult>& published_columns() {
  using R = PublishedResult;
  const auto shown = [](ColumnInfo info, auto value) { return text_only<R>(std::move(info), value); };
  static const Columns<R> columns{
      {{"name", "table", "", "Name of the published table.", Origin::question}, [](const R& r) { return r.name; }},
      {{"hardware", "GPU", "", "Id of the GPU's profile.", Origin::question}, [](const R& r) { return r.hardware; }},
      json_only<R>({"source", "source", "", "Where the table was published.", Origin::question},
                   [](const R& r) { return r.source; }),
      json_only<R>({"passed", "passed", "", "Whether the bars hold.", Origin::records},
                   [](const R& r) { return r.passed(); }),
      {{"rows", "rows", "", "The rows of the table; text says how many.", Origin::question},
       [](const R& r) { return objects_of(published_line_columns(), published_lines(r)); },
       [](const R& r) { return r.rows.size(); }},
      shown({"model.n", "fit", "", "Rows that fit the memories of the GPU; the others have no predicted time.",
             Origin::records},
            [](const R& r) { return r.model.error.n; }),
      shown({"model.mape", "mean error", "", "Mean absolute relative error of the predicted times.", Origin::records},
            [](const R& r) { return percent(r.model.error.mean, 1); }),
      shown({"model.median", "median", "", "Median absolute relative error.", Origin::records},
            [](const R& r) { return percent(r.model.error.median, 1); }),
      shown({"model.worst", "worst", "", "Largest absolute relative error.", Origin::records},
            [](const R& r) { return percent(r.model.error.worst, 1); }),
      shown({"model.bias", "bias", "", "Median of predicted / measured - 1.", Origin::records},
            [](const R& r) { return percent(r.model.bias, 1); }),
      shown(
          {"model.rank", "rank", "", "Spearman's correlation of predicted and measured throughputs.", Origin::records},
          [](const R& r) { return fmt::format("{:.3f}", r.model.rank); }),
      {{"bars", "bars", "", "Largest mean error and least rank that the table states.", Origin::question},
       bars_json,
       bars_text},
      json_only<R>({"model", "model", "", "n, mape, median, p90, worst, bias and rank of the model.", Origin::records},
                   [](const R& r) { return score_json(r.model); }),
      json_only<R>({"roofline", "roofline", "",
                    "The same of a roofline: FLOP over peak or compulsory bytes over bandwidth.", Origin::records},
                   [](const R& r) { return score_json(r.roofline); }),
      shown({"roofline.mape", "roofline error", "", "Mean absolute relative error of the roofline.", Origin::records},
            [](const R& r) { return percent(r.roofline.error.mean, 1); }),
      shown({"roofline.rank", "roofline rank", "", "Spearman's correlation of the roofline.", Origin::records},
            [](const R& r) { return fmt::format("{:.3f}", r.roofline.rank); }),
  };
  return columns;
}

const Columns<PublishedLine>& published_line_columns() {
  using R = PublishedLine;
  static const Columns<R> columns{
      text_only<R>({"table", "table", "", "Name of the published table.", Origin::question},
                   [](const R& r) { return r.result.name; }),
      text_only<R>({"hardware", "hardware", "", "Id of the GPU's profile.", Origin::question},
                   [](const R& r) { return r.result.hardware; }),
      {{"point", "point", "", "Id of the point.", Origin::question}, [](const R& r) { return r.time.point; }},
      {{"measured", "measured_seconds", "s", "Published time.", Origin::measured},
       [](const R& r) { return r.time.measured; }},
      {{"predicted", "predicted_seconds", "s", "Predicted time; null: the kernel does not fit.", Origin::time_model},
       [](const R& r) { return r.time.fits() ? Json(r.time.predicted) : Json(nullptr); }},
      {{"ratio", "ratio", "", "predicted / measured.", Origin::records},
       [](const R& r) { return r.time.fits() ? finite(r.time.predicted / r.time.measured) : Json(nullptr); }},
      {{"roofline", "roofline_seconds", "s", "FLOP over peak or compulsory bytes over bandwidth.", Origin::profile},
       [](const R& r) { return r.time.roofline; }},
      {{"fits", "fits", "", "Whether the kernel fits the memories of the GPU.", Origin::loops},
       [](const R& r) { return r.time.fits(); }},
      json_only<R>({"kernels", "kernels", "", "Kernels that run one after the other.", Origin::question},
                   [](const R& r) { return Json(r.time.kernels); }),
      json_only<R>({"sizes", "sizes", "", "Sizes by which error bars widen.", Origin::question},
                   [](const R& r) { return Json(r.time.sizes); }),
  };
  return columns;
}

std::vector<PublishedLine> published_lines(const PublishedResult& result) {
  std::vector<PublishedLine> lines;
  for (const PublishedTime& time : result.rows) lines.push_back({result, time});
  return lines;
}

std::vector<ColumnList> comparison_column_lists() {
  return {listed("compared rows", "validate: rows[], csv, rows outside their tolerance", comparison_columns()),
          listed("errors", "validate: summary[], text", summary_columns()),
          listed("not judged", "validate: skipped[], text", skipped_columns()),
          listed("calibration", "validate: calibration[]", calibration_columns()),
          listed("search regret", "validate: search_regret[]", regret_columns()),
          listed("published tables", "validate --published: tables[], text", published_columns()),
          listed("published rows", "validate --published: tables[].rows[], csv", published_line_columns()),
          listed("costs of lacking entries", "hardware costs", lack_cost_columns())};
}

}  // namespace tilescope
