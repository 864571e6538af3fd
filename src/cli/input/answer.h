// The question of one point, answered: what predict and explain print.
#pragma once

#include "base/error.h"
#include "cli/input/options.h"
#include "predict/explain/prediction_columns.h"

namespace tilescope::cli {

struct Answer {
  Plan plan;
  HardwareProfile hardware;
  Point point;
  Prediction prediction;
  JsonOptions options;  // errors of recorded predictions of this kernel on this GPU

  PredictedPoint row() const { return {plan, hardware, point, &prediction, options}; }
};

// --l2 and --drift: how DRAM bytes are found.
std::vector<OptionSpec> l2_options();

// Reads the point's options, searches for a tile where none is given, and predicts. InputError for a point that the
// kernel does not support.
Answer answer(const Arguments& arguments);

// answer_no for a point that cannot run.
ExitStatus status_of(const Prediction& prediction);

// The errors that validate/errors.json states for a kernel on a GPU in a regime (see regime_of).
JsonOptions recorded_errors(const Plan& plan, const HardwareProfile& hardware, const std::string& regime);

}  // namespace tilescope::cli
