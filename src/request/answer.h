// Predicts one point from its options. predict and explain print the answer.
#pragma once

#include "base/error.h"
#include "base/text.h"
#include "predict/explain/prediction_columns.h"
#include "request/best_tile.h"
#include "request/read_point.h"

namespace tilescope {

struct Answer {
  Plan plan;
  HardwareProfile hardware;
  Point point;
  Prediction prediction;
  JsonOptions options;               // errors of recorded predictions of this kernel on this GPU
  std::string how;                   // how --kernel auto or a software chose the kernel; empty: it was named
  std::vector<std::string> outside;  // why the kernel is not launched for these sizes: then nothing is predicted

  PredictedPoint row() const {
    return {plan, hardware, point, outside.empty() ? &prediction : nullptr, options, join(outside, "; ")};
  }
  Json json() const;  // tilescope/prediction/1
};

// Reads the point's options, searches for a tile where none is given, and predicts. InputError for a point that the
// kernel does not support. `walks` false: the closed form predicts the point, for callers that walk it themselves.
Answer answer(const Options& options, bool walks = true);

// The same where --kernel names a descriptor, or is not given.
Answer answer_of_plan(const Options& options, bool walks = true);

// The same in two steps: what is known before the walk through the L2, and the rest. InputError in either.
struct StartedAnswer {
  Answer answer;      // without a prediction
  RankedTiles tiles;  // by the closed form
};
StartedAnswer start_answer(const Options& options);
void finish_answer(StartedAnswer& started, bool walks = true);

// The errors that are known of a prediction: on a measured GPU, those of measurements of this kernel or the nearest
// (validate/errors.json); where rates are derived, those of all kernels by the same rules (validate/basis_errors.json).
// Of an ideal kernel of attention: the fastest recorded kernels beside it (validate/ideal_errors.json).
JsonOptions stated_errors(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                          const Prediction& prediction);

}  // namespace tilescope
