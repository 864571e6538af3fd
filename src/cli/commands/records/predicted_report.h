// The report of points that are predicted and not measured: one point, a sweep, several GPUs, formats or kernels,
// or the attention calls of a model.
#pragma once

#include <vector>

#include "analysis/report/model.h"
#include "cli/input/options.h"
#include "predict/explain/json.h"

namespace tilescope::cli {

// Options of a point, the axes of a sweep, and what asks for a model.
std::vector<OptionSpec> predicted_options();

// Whether an option of a point is given, beside the GPU.
bool asks_for_predictions(const Options& given);

struct PredictedReport {
  analysis::Report report;
  std::vector<Json> predictions;  // of its points
};

// A point that cannot run is listed with its reason. Throws InputError where no point has a time.
PredictedReport predicted_report(const Arguments& arguments);

}  // namespace tilescope::cli
