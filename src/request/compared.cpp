#include "request/compared.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>

#include "base/checked.h"
#include "base/contains.h"
#include "base/data_directory.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/text.h"
#include "predict/explain/prediction_columns.h"
#include "predict/point/support.h"
#include "predict/predict.h"
#include "predict/rate_basis.h"
#include "predict/sm/rates.h"
#include "request/answer.h"
#include "request/best_tile.h"
#include "request/crossed.h"
#include "request/option_specs.h"
#include "request/read_point.h"

namespace tilescope {
namespace {

// One row: a point on one GPU with one dtype choice, and what was predicted of it.
struct ComparedRow {
  const Plan& plan;
  const HardwareProfile& hardware;
  std::string dtype = {};  // the choice, as it was given
  std::string gpu = {};    // as it was given, where another GPU of the question has its id
  Point point = {};
  Prediction prediction = {};
  JsonOptions options = {};
  bool read = false;                         // the point was read
  bool launched = false;                     // false: nothing is predicted
  std::string reason = {};                   // why not, where the kernel's shapes are not the reason
  std::optional<std::string> refusal = {};   // why `predict` refuses the row
  std::vector<Diagnostic> diagnostics = {};  // what it would print

  bool timed() const { return launched && prediction.feasible; }
};

// The shortest time that may be compared with others: of a kernel that runs, by the model of blocks. 0: there is none.
double fastest_seconds(const std::deque<ComparedRow>& rows) {
  double fastest = 0;
  for (const ComparedRow& row : rows) {
    const TimePrediction& time = row.prediction.time;
    if (row.timed() && time.modelled && (fastest == 0 || time.total < fastest)) fastest = time.total;
  }
  return fastest;
}

void predict_row(const Options& options, ComparedRow& row) {
  row.point = read_point(options, row.plan);
  row.read = true;
  if (!row.reason.empty()) return;
  settle_tile(row.plan, row.hardware, row.point, tile_given(options), search_options(options, row.plan));
  row.launched = outside_shapes(row.plan.kernel, row.hardware, row.point.workload).empty();
  if (!row.launched) return;
  predict(row.plan, row.hardware, row.point, row.prediction);
  row.options = stated_errors(row.plan, row.hardware, row.point, row.prediction);
}

// Predicts the row, or notes why `predict` refuses it.
void fill_row(const RowOptions& given, ComparedRow& row) {
  row.diagnostics = given.diagnostics;
  try {
    if (row.diagnostics.empty()) predict_row(given.options, row);
  } catch (const InputError& error) {
    row.diagnostics = error.diagnostics();
  } catch (const CountOverflow& error) {
    row.diagnostics = {{.path = "point", .message = error.what()}};
  }
  if (row.diagnostics.empty()) return;
  row.launched = false;
  row.refusal = row.diagnostics.front().message;
}

struct RowQuestion {
  const AskedKernel& kernel;
  std::size_t gpu = 0;
  std::string dtype;
  Plan& plan;  // of the row
};

void answer_row(const CrossedQuestion& question, const RowQuestion& asked, ComparedRow& row) {
  const RowOptions given = row_options(question, asked.kernel, question.gpus[asked.gpu], asked.dtype);
  asked.plan = read_plan(given.options);
  row.point = default_point(row.plan);
  row.reason = given.reason;
  fill_row(given, row);
}

// Throws what `predict` would, each finding once, where it refuses every row.
void refuse_if_all_refused(const std::deque<ComparedRow>& rows) {
  std::vector<Diagnostic> all;
  std::set<std::string> seen;
  for (const ComparedRow& row : rows) {
    if (!row.refusal) return;
    for (const Diagnostic& each : row.diagnostics)
      if (seen.insert(each.path + "\n" + each.message).second) all.push_back(each);
  }
  throw InputError(std::move(all));
}

// What ratios of the rows divide by.
void set_references(std::deque<ComparedRow>& rows) {
  const double fastest = fastest_seconds(rows);
  // Lower bounds are compared with each other only where no time is predicted by the model of blocks.
  auto timed = std::find_if(rows.begin(), rows.end(),
                            [](const ComparedRow& row) { return row.timed() && row.prediction.time.modelled; });
  if (timed == rows.end())
    timed = std::find_if(rows.begin(), rows.end(), [](const ComparedRow& row) { return row.timed(); });
  const auto counted = std::find_if(rows.begin(), rows.end(), [](const ComparedRow& row) { return row.launched; });
  for (ComparedRow& row : rows) {
    row.options.fastest_seconds = fastest;
    if (timed != rows.end() && timed->prediction.time.modelled == row.prediction.time.modelled)
      row.options.first_seconds = timed->prediction.time.total;
    if (counted == rows.end()) continue;
    const auto& both = counted->prediction.traffic[Boundary::hbm];
    row.options.first_hbm_bytes = static_cast<double>(both[0] + both[1]);
  }
}

std::vector<Json> cells_of(const ComparedRow& row) {
  std::vector<Json> cells;
  for (const PredictionColumn& column : columns_at(prediction_columns(row.plan), shown::compare)) {
    if (!row.gpu.empty() && column.key == "hardware") cells.emplace_back(row.gpu);
    else if (row.refusal && column.key == "tile") cells.emplace_back(nullptr);
    else if (row.refusal && column.key == "dtype" && !row.dtype.empty()) cells.emplace_back(row.dtype);
    else
      cells.push_back(cell(column, {row.plan, row.hardware, row.point, row.launched ? &row.prediction : nullptr,
                                    row.options, row.refusal.value_or(row.reason)}));
  }
  return cells;
}

// Sizes and mask, as far as all rows that were read share them.
Json shared_shape(const std::deque<ComparedRow>& rows) {
  Json shape;
  for (const ComparedRow& row : rows) {
    if (!row.read) continue;
    const Json point = point_json(row.plan, row.hardware.id, row.point);
    for (const char* key : {"pass", "diagram", "mask", "workload", "sizes"}) {
      if (!shape.contains(key)) shape[key] = point[key];
      else if (shape[key] != point[key]) shape[key] = nullptr;
    }
  }
  return shape;
}

std::size_t compared_column(const std::string& key) {
  const std::vector<std::string> keys = compared_keys();
  const auto found = std::find(keys.begin(), keys.end(), key);
  if (found == keys.end()) refuse("--sort", "is no column: '" + key + "'" + did_you_mean(key, keys));
  return static_cast<std::size_t>(found - keys.begin());
}

using ComparedRows = std::vector<std::vector<Json>>;

// Sorts rows by a column, "COLUMN" or "COLUMN:desc"; cells without a value come last. Lower bounds of a time come after
// the times that are predicted, whatever they are.
void sort_rows(ComparedRows& rows, const std::string& by) {
  const bool down = by.ends_with(":desc");
  const std::string key = down ? by.substr(0, by.size() - 5) : by;
  const std::size_t column = compared_column(key), model = compared_column("model");
  const bool of_time = key == "microseconds" || key == "model_tflops";
  const auto rank = [&](const std::vector<Json>& row) {
    return row[column].is_null() ? 2 : of_time && row[model] == "bound" ? 1 : 0;
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return down ? b[column] < a[column] : a[column] < b[column];
  });
}

// Of each GPU and format the fastest row; times by the model of blocks come before bounds. Where none has a time, the
// first row stays, and says why.
void keep_best(ComparedRows& rows) {
  const std::size_t gpu = compared_column("hardware"), dtype = compared_column("dtype"),
                    time = compared_column("microseconds"), model = compared_column("model");
  const auto rank = [&](const std::vector<Json>& row) {
    return std::pair(row[time].is_null()      ? 2
                     : row[model] == "blocks" ? 0
                                              : 1,
                     row[time].is_null() ? 0 : row[time].get<double>());
  };
  ComparedRows best;
  for (std::vector<Json>& row : rows) {
    const auto same = std::find_if(best.begin(), best.end(), [&](const auto& other) {
      return other[gpu] == row[gpu] && other[dtype] == row[dtype];
    });
    if (same == best.end()) best.push_back(std::move(row));
    else if (rank(row) < rank(*same)) *same = std::move(row);
  }
  rows = std::move(best);
}

}  // namespace

std::vector<std::string> compared_keys() {
  std::vector<std::string> keys;
  for (const PredictionColumn& column : columns_at(prediction_columns(std::vector<std::string>{}), shown::compare))
    keys.push_back(column.key);
  return keys;
}

Compared compared(const Options& options, const std::function<void(std::size_t done, std::size_t all)>& progress) {
  if (const auto by = options.text("sort")) compared_column(by->substr(0, by->find(':')));
  const CrossedQuestion question = crossed_question(options.without("threads"));
  std::deque<Plan> plans;
  std::deque<ComparedRow> rows;  // predictions name arrays of their plans
  std::vector<RowQuestion> asked;
  for (const AskedKernel& kernel : question.kernels)
    for (std::size_t g = 0; g < question.gpus.size(); ++g)
      for (const std::string& dtype : question.dtypes) {
        asked.push_back({.kernel = kernel, .gpu = g, .dtype = dtype, .plan = plans.emplace_back()});
        rows.push_back({.plan = plans.back(),
                        .hardware = question.profiles[g],
                        .dtype = dtype,
                        .gpu = question.same_id(g) ? question.gpus[g] : ""});
      }
  in_order(
      rows.size(), threads_of(options), [&](std::size_t i, std::size_t) { answer_row(question, asked[i], rows[i]); },
      [&](std::size_t i, std::size_t) {
        if (progress) progress(i + 1, question.rows());
      });
  refuse_if_all_refused(rows);
  set_references(rows);
  Compared answer{.shape = shared_shape(rows), .rows = {}};
  for (const ComparedRow& row : rows) {
    answer.rows.push_back(cells_of(row)), answer.any_time |= row.timed();
    if (row.launched && row.plan.assumed && !contains(answer.ideal, row.plan.kernel.name))
      answer.ideal.push_back(row.plan.kernel.name);
    for (const Axis& axis : row.plan.schedule.diagram.axes) answer.sized_by_workload |= axis.extent.has_value();
  }
  if (options.has("best")) keep_best(answer.rows);
  if (const auto by = options.text("sort")) sort_rows(answer.rows, *by);
  return answer;
}

RatesFrom common_rates(const std::vector<HardwareProfile>& stated) {
  const auto serves = [](const HardwareProfile& gpu) {
    return gpu.measured && !missing_sm_rate(gpu) && modelled_basis(gpu) != Basis::measured;
  };
  return std::any_of(stated.begin(), stated.end(), serves) ? RatesFrom::derived : RatesFrom::stated;
}

Json Compared::json() const {
  const std::vector<std::string> keys = compared_keys();
  Json list = Json::array();
  for (const std::vector<Json>& row : rows) {
    Json object;
    for (std::size_t c = 0; c < row.size(); ++c) object[keys[c]] = row[c];
    list.push_back(std::move(object));
  }
  return {{"schema", "tilescope/compare/1"}, {"shape", shape}, {"rows", std::move(list)}, {"ideal", ideal}};
}

}  // namespace tilescope
