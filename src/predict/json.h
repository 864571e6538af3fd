// Predictions as the JSON other programs read (schema tilescope/prediction/1).
#pragma once

#include <nlohmann/json.hpp>

#include "predict/prediction.h"

namespace tilescope {

using Json = nlohmann::ordered_json;

// How far predicted times lie from the records of this kernel on this GPU.
struct TimeError {
  double mape = 0, p90 = 0;  // mean and 90th percentile of the absolute relative error
  std::int64_t n = 0;        // records
  std::string basis;
};

// Reads the summary that `tilescope validate --errors` wrote. nullopt: no file, or no record of this pair.
std::optional<TimeError> recorded_time_error(const std::filesystem::path& file, const std::string& hardware, const std::string& kernel);

struct JsonOptions {
  bool terms = true;
  std::optional<TimeError> error = {};
};

Json to_json(const Plan& plan, const HardwareProfile& hardware, const Point& point, const Prediction& prediction,
             JsonOptions options = {});

// The "point" object alone: hardware, schedule, kernel, pass, mask, workload, dtypes, tile.
Json point_json(const Plan& plan, const std::string& hardware_id, const Point& point);

}  // namespace tilescope
