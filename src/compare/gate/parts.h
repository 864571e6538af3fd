// What predicted numbers are made of, so that a gate can say which part moved.
#pragma once

#include <vector>

#include "compare/compare.h"

namespace tilescope {

// Traffic: bytes by array and cause. Times: seconds in which SMs are busy, wait, and between kernels, then those that
// each memory and each unit of the SMs takes by itself. Instructions of pipes: of scores, outputs, threads, outside of
// the steps. Else by launch. Empty where there is one part only.
std::vector<PredictedPart> predicted_parts(const Plan& plan, const HardwareProfile& hardware,
                                           const Prediction& prediction, const Measured& measured);

// The parts that moved most, at most two: "V +16,384, O staging -128"; empty: none moved or one side has no parts.
std::string moved_parts(const std::vector<PredictedPart>& before, const std::vector<PredictedPart>& now);

}  // namespace tilescope
