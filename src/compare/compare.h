// Predictions set against records, row by row, with the tolerance that the experiment file states for each.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/verdict.h"
#include "compare/catalogue.h"
#include "predict/explain/prediction_json.h"
#include "records/experiment.h"
#include "records/record.h"

namespace tilescope {

// What a predicted number is made of: bytes of an array, seconds of a part of the time, operations of a launch.
struct PredictedPart {
  std::string name;
  double value = 0;
};

struct ComparisonRow {
  std::string experiment = {}, point, hardware, kernel, quantity;
  std::string level, direction;  // may be empty
  double predicted = 0, measured = 0;
  std::optional<double> tolerance;  // relative; empty: not judged
  double slack = 0;                 // absolute
  std::string reason;
  Verdict verdict = Verdict::info;
  std::size_t record = 0;                 // position in Comparison::records
  std::vector<PredictedPart> parts = {};  // of `predicted`; empty: not divided
  std::optional<double> spread = {};      // of the samples of a time, see Measured

  double relative_error()
      const;                  // |predicted - measured| / measured; 0 when both are 0, infinite when only measured is
  std::string label() const;  // "traffic l2 read"
};

struct SummaryRow {
  std::string kernel, quantity;
  std::size_t n = 0, failed = 0;
  double mean = 0, median = 0, p90 = 0, worst = 0;  // of relative_error
};

// n, mean, median, p90 and worst of relative errors; the names stay empty. At least one value.
SummaryRow spread(std::vector<double> errors);

struct ComparedPoint {
  validate::Record record;
  Plan plan;
  Point point;
  Prediction prediction;
};

// What summaries need of a record.
struct ComparedRecord {
  std::string hardware, kernel, point;
  std::string workload;  // the point without its tile
  std::string regime;    // of the prediction
  ErrorSizes sizes = {};
  bool blind = false;                // of a blind experiment
  std::int64_t other_processes = 0;  // that computed on the GPU beside the measured one
};

// A record whose sizes lie outside those for which its kernel's software launches it: another kernel ran.
struct SkippedRecord {
  std::string hardware, kernel, point, reason;
};

struct Comparison {
  std::vector<ComparedRecord> records;
  std::vector<ComparedPoint> points;  // of all records, or none (Keep::rows)
  std::vector<ComparisonRow> rows;
  std::vector<SkippedRecord> skipped;  // neither predicted nor judged
  std::vector<SummaryRow> summary;     // by kernel and quantity, in order of first appearance
  bool passed() const;                 // at least one row is judged, and none is outside its tolerance
};

// Rows of a comparison: judged by a tolerance, of these outside it, and those that are only shown, for which the
// experiment states "report" or nothing.
struct RowCounts {
  std::size_t judged = 0, failed = 0, shown = 0;
};
RowCounts counts_of(const std::vector<ComparisonRow>& rows);

// The point of the model that a record measured, with its descriptor's plan.
Point model_point(const validate::Record& record, const Plan& plan, const std::filesystem::path& data_directory);

// Throws InputError for a record whose result was wrong.
void require_right_result(const validate::Record& record);

// Throws InputError for a record of a launch that its kernel is not built for, or that leaves open which of the
// kernel's tiles ran.
void require_possible(const validate::Record& record, const Plan& plan, const HardwareProfile& hardware,
                      const Point& point);

using ExperimentOf = std::function<const validate::Experiment&(const std::string& name)>;  // supplies tolerances
using CompareProgress = std::function<void(std::size_t done, std::size_t all)>;

enum class Keep { rows, points };  // points: also each record with its plan and prediction

// What becomes of one record.
struct ComparedOne;

// Compares records, each on its own hardware profile.
class Comparer {
 public:
  // At most `records` are added.
  Comparer(const std::filesystem::path& data_directory, ExperimentOf experiment_of, Keep keep, std::size_t records,
           RatesFrom rates = RatesFrom::stated, TimeChoices time = {}, std::size_t threads = 1);
  // Adds records in their order. `after` is called for each; its argument is null, or says why the record was not
  // added: InputError when its kernel or hardware is unknown, CountOverflow.
  void add(std::vector<validate::Record> records, const std::function<void(std::exception_ptr)>& after);
  void add(std::vector<validate::Record> records);  // throws why the first one was not added
  void add(validate::Record record) { add(std::vector<validate::Record>{std::move(record)}); }
  Comparison finish();

 private:
  void prepare(ComparedOne& one);
  void append(ComparedOne& one);
  Catalogue catalogue_;
  ExperimentOf experiment_of_;
  Keep keep_;
  TimeChoices time_;
  std::size_t threads_;
  Comparison comparison_;
};

// Compares records that are in memory, and keeps their points.
Comparison compare_records(const std::vector<validate::Record>& records, const std::filesystem::path& data_directory,
                           const ExperimentOf& experiment_of, std::size_t threads = 1);

std::vector<SummaryRow> summarise(const std::vector<ComparisonRow>& rows);

// Quantities a record measures, by (quantity, level, direction): exactly those for which it holds every counter.
struct Measured {
  std::string quantity, level, direction;
  double value = 0;
  // Of a time with at least five samples: the range of their middle half over their median. Other load on the GPU, or a
  // clock that moves, makes it large.
  std::optional<double> spread = {};
};
inline constexpr double wide_spread = 0.1;
// Whether the host, not the GPU, set the pace of a record's runs back to back: shorter than launches take a host, their
// samples lie apart as those of queued launches do not; or they took no less than runs with an empty L2, which are
// queued.
bool paced_by_host(const validate::Record& record);
inline constexpr std::string_view host_seconds_quantity = "seconds_by_host";  // such a time; no error bar has it
std::vector<Measured> measured_quantities(const validate::Record& record, const HardwareProfile& hardware,
                                          const Plan& plan, const Prediction& prediction);

double predicted_value(const Prediction& prediction, const Measured& measured);

// Renderings of a comparison.
Json to_json(const Comparison& comparison);  // {"schema", "rows", "summary"}
// What taking the tile that is predicted to be the fastest costs: its measured steady time over that of the tile
// measured fastest, less 1, over the workloads of a kernel that have at least four recorded tiles.
struct SearchRegret {
  std::string hardware, kernel;
  std::size_t workloads = 0, tiles = 0;
  double mean = 0, worst = 0;  // mean: geometric
  std::string worst_workload;
  bool within_bar = true;  // a mean of at most 5 %, asked of kernels with at least 12 workloads
};
std::vector<SearchRegret> search_regret(const Comparison& comparison);
struct TimedTile {
  double predicted = 0, measured = 0;  // seconds
};
double regret_of(const std::vector<TimedTile>& tiles);  // at least one

// A test case a judged row, and a skipped one for each kernel and quantity of which rows are only shown.
std::string to_junit(const Comparison& comparison);

}  // namespace tilescope
