// The error that records show for predictions of ideal kernels: the fastest recorded kernel of a schedule beside its
// ideal one.
#pragma once

#include <filesystem>
#include <map>

#include "hardware/profile.h"
#include "predict/explain/error_bar.h"
#include "predict/point/point.h"

namespace tilescope {

// What records a prediction of an ideal kernel is like.
struct IdealQuery {
  std::string hardware, chip, schedule, pass;
  std::string phase;  // "decode": at most 16 queries; else "prefill"
  std::string mask;   // kind
};
IdealQuery ideal_query(const Plan& plan, const HardwareProfile& hardware, const Point& point);

// Measured over ideal time of the points of a group; empty texts: of all GPUs, schedules, phases and masks.
struct IdealRow {
  IdealQuery of;
  double mape = 0, p90 = 0;
  std::int64_t n = 0;
  MeasuredRange range;
};

class IdealErrors {
 public:
  // What validate/tools/ideal_errors.py wrote; empty where there is no file. InputError for another file.
  static IdealErrors load(const std::filesystem::path& file);

  // The range of the nearest group with enough points: of the GPU, schedule and regime; else of the schedule's other
  // regimes there; of all GPUs; of all schedules of the pass. Borrowed ranges are widened by measured factors. nullopt:
  // nothing is recorded of the pass.
  std::optional<TimeError> find(const IdealQuery& query) const;

 private:
  const IdealRow* row(const IdealQuery& of) const;
  double factor(const std::string& cause) const;

  std::vector<IdealRow> rows_;
  std::map<std::string, double> widening_;
  std::map<std::string, std::string> chips_;  // of GPUs with records
};

}  // namespace tilescope
