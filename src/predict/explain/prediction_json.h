// Predictions as the JSON other programs read (schema tilescope/prediction/1).
#pragma once

#include <optional>
#include <string>

#include "predict/explain/error_bar.h"
#include "predict/explain/json.h"
#include "predict/prediction.h"

namespace tilescope {

struct JsonOptions {
  bool terms = true;
  std::optional<TimeError> error = {}, cold_error = {}, dram_error = {};  // of both times; of bytes read from DRAM
  // Of a comparison; 0: there is none.
  double fastest_seconds = 0;  // of the rows by the model of blocks
  double first_seconds = 0;    // of the first row that has a time, if by the same model
  double first_hbm_bytes = 0;  // of the first row that is predicted
};

Json to_json(const std::optional<TimeError>& error);
const char* cause_name(Cause cause);  // "tile", "spilled registers"

Json to_json(const Plan& plan, const HardwareProfile& hardware, const Point& point, const Prediction& prediction,
             const JsonOptions& options = {});

// The answer of a point that the kernel does not run, with one line a reason.
Json unsupported_json(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                      const std::vector<std::string>& reasons);

// The "point" object alone: hardware, schedule, kernel, pass, mask, workload, dtypes, tile.
Json point_json(const Plan& plan, const std::string& hardware_id, const Point& point);

}  // namespace tilescope
