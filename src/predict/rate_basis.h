// Where the rates behind a predicted time come from.
#pragma once

#include <string>
#include <vector>

#include "hardware/derived.h"
#include "predict/prediction.h"

namespace tilescope {

// "blocks": blocks on multiprocessors, waits, launches, clock under the power limit; "bound": the slowest resource at
// its full rate, a lower bound. Times of different models must not be compared.
std::string model_name(const Prediction& prediction);

struct ResourceBasis {
  std::string resource;  // "hbm", ..., "launch", "clock", "power"
  Basis basis;
};
std::vector<ResourceBasis> resource_bases(const HardwareProfile& hardware, const Prediction& prediction);

// The one basis of all resources, or mixed.
Basis overall_basis(const HardwareProfile& hardware, const Prediction& prediction);
Basis modelled_basis(const HardwareProfile& hardware);  // of a time by the model of blocks

}  // namespace tilescope
