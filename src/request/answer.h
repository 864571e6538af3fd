// Predicts one point from its options. predict and explain print the answer.
#pragma once

#include "base/error.h"
#include "predict/explain/prediction_columns.h"
#include "request/read_point.h"

namespace tilescope {

struct Answer {
  Plan plan;
  HardwareProfile hardware;
  Point point;
  Prediction prediction;
  JsonOptions options;  // the errors of earlier predictions of this kernel on this GPU, from validate/errors.json

  PredictedPoint row() const { return {plan, hardware, point, &prediction, options}; }
};

// Reads the point's options, searches for a tile where none is given, and predicts. InputError for a point that the
// kernel does not support.
Answer answer(const Options& options);

// The errors that are known of a prediction in a regime (see regime_of): on a measured GPU, those of this kernel's
// records (validate/errors.json); where rates are derived, those of all kernels by the same rules
// (validate/basis_errors.json). None of an assumed kernel, and of a lower bound.
JsonOptions stated_errors(const Plan& plan, const HardwareProfile& hardware, const std::string& regime);

}  // namespace tilescope
