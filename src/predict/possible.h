// What no answer may be: the last stage of a prediction checks it.
#pragma once

#include <stdexcept>

#include "predict/prediction.h"

namespace tilescope {

// A prediction that cannot be true: a defect of the model, not of the input.
class ImpossiblePrediction : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Throws ImpossiblePrediction if a term or a level has fewer than 0 bytes, HBM moves fewer than the compulsory bytes,
// or a time, a clock, a power or a saving is negative or not finite. A time below 0 of a single resource is not an
// error: it says that the profile lacks the rate (prediction.h). Times are looked at where they were wanted.
void require_possible(const Prediction& prediction, Wanted wanted = Wanted::times);

}  // namespace tilescope
