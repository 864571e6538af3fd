// The error that recorded runs and published tables show for predictions of a kernel on a GPU.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "predict/prediction.h"

namespace tilescope {

// Measured over predicted time, of the fastest recorded kernel at each point.
struct MeasuredRange {
  double least = 0, low = 0, median = 0, high = 0, most = 0;  // nine of ten points lie from low to high
  std::int64_t kernels = 0;                                   // that are recorded there
};

// How far predictions lie from measurements of this kernel on this GPU.
struct TimeError {
  double mape = 0, p90 = 0;                 // mean of the absolute relative error; what nine of ten points stay within
  std::int64_t n = 0;                       // measurements
  std::string basis;                        // which
  std::string borrowed_from = {};           // where they are not of this GPU, kernel and regime; empty: they are
  double widened = 1;                       // by how much, for that and for sizes beyond the measured ones
  std::optional<MeasuredRange> range = {};  // of ideal kernels (ideal_error.h)
};

// What limits a prediction, as far as its error goes: "short" (under 20 us), "memory" (DRAM or L2 is the busiest
// resource), else "compute"; "spills" where the compiler keeps registers in memory.
std::string regime_of(const Prediction& prediction);

// The sizes whose measured range an error bar knows: q_len, kv_len, heads (of all batch entries), head_dim.
using ErrorSizes = std::map<std::string, double>;
ErrorSizes error_sizes(const Workload& workload);

// Errors of a group of measurements.
struct ErrorRow {
  std::string hardware, kernel, quantity, regime;  // kernel empty: of all; regime empty: of all
  bool published = false;
  double mape = 0, p90 = 0;
  std::int64_t n = 0;
  std::optional<double> held = {};  // part of the records that the p90 of the others held
  std::string basis;
  std::map<std::string, std::pair<double, double>> sizes = {};  // least and most
};

// What an error bar is multiplied by where it is borrowed, or added for each doubling of a size beyond its range.
struct ErrorWidening {
  std::string quantity, cause;  // "regime", "gpu", "kernel"; "smaller", "larger"
  double factor = 1;            // of smaller and larger: the part added for a doubling
  std::int64_t n = 0;           // measurements that it comes from
};

struct ErrorQuery {
  std::string hardware, kernel, quantity, regime;  // kernel empty: one that is not measured
  ErrorSizes sizes = {};                           // empty: within the range
};

// Fewer measurements state no bar of their own: the largest of nine is the least number that nine of ten further ones
// of the same kind stay within.
inline constexpr std::int64_t enough_errors = 9;

// The least of the errors that nine of ten further ones of the same kind stay within: the ceil(0.9 (n + 1))-th
// smallest; of fewer than nine the largest.
double bar_of(std::vector<double> errors);

class ErrorBars {
 public:
  ErrorBars() = default;
  ErrorBars(std::vector<ErrorRow> rows, std::vector<ErrorWidening> widening)
      : rows_(std::move(rows)), widening_(std::move(widening)) {}

  // What `tilescope validate --errors` wrote; empty where there is no file. InputError for another file. `kernel`: that
  // `find` will be asked for; rows of others may be left out, unread.
  static ErrorBars load(const std::filesystem::path& file, const std::string& kernel = {});

  // The bar of the nearest group with enough measurements: of the GPU, kernel and regime; else of the kernel's other
  // regimes; of a published table; of the kernel on another GPU; of all kernels on this GPU; of all on another.
  // Borrowed bars and sizes beyond the measured range widen it. nullopt: nothing is measured of the quantity.
  std::optional<TimeError> find(const ErrorQuery& query) const;

  const std::vector<ErrorRow>& rows() const { return rows_; }
  const std::vector<ErrorWidening>& widening() const { return widening_; }

 private:
  struct Source;
  const ErrorRow* row(const std::string& hardware, const std::string& kernel, const ErrorQuery& query,
                      const std::string& regime, bool published) const;
  std::vector<std::string> other_gpus(const std::string& hardware) const;
  std::vector<Source> sources(const ErrorQuery& query) const;
  double factor(const ErrorQuery& query, const char* cause, double otherwise) const;
  double beyond(const ErrorQuery& query, const ErrorRow& row) const;

  std::vector<ErrorRow> rows_;
  std::vector<ErrorWidening> widening_;
};

// The error of predictions whose rates have this basis, from the summary that validate/tools/basis_errors.py wrote: of
// this GPU, else of GPUs with this chip, else of those whose rates came from another chip; the largest mean of several.
std::optional<TimeError> basis_error(const std::filesystem::path& file, const std::string& hardware,
                                     const std::string& chip, const std::string& basis);

}  // namespace tilescope
