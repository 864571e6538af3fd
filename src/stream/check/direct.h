// Direct evaluation of a cascade: every fold over all positions, one after the other. Independent of witnesses.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "stream/check/stream_data.h"

namespace tilescope {

struct DirectValues {
  std::map<std::string, double> folds{};
  std::map<std::string, double> magnitudes{};  // of each fold: sum of |body| for a sum, else |value|
  std::map<std::string, double> outputs{};
  std::map<std::string, std::vector<double>> maps{};  // outputs that vary along the axis, by position
};

DirectValues evaluate_directly(const Cascade& cascade, const StreamData& data);

}  // namespace tilescope
