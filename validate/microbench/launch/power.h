// The parts of the power measurement, which use each other's results.
#pragma once

#include <string>
#include <vector>

#include "validate/microbench/bench.h"
#include "validate/microbench/load.h"

namespace tilescope::validate {

// All loads, for the record: watts, clock and rate against the load's index.
class LoadCurves {
 public:
  void add(const std::string& name, const LoadResult& load) { names_.push_back(name), loads_.push_back(load); }
  void finish(Microbench& bench) const {
    for (std::size_t i = 0; i < loads_.size(); ++i) {
      bench.add_curve({"load " + names_[i] + ", operations/s " + std::to_string(loads_[i].operations_per_second),
                       "Hz",
                       "W",
                       {{loads_[i].clock_hz, loads_[i].watts}}});
    }
  }

 private:
  std::vector<std::string> names_;
  std::vector<LoadResult> loads_;
};

void measure_tensor_power(Microbench& bench, const Nvml& nvml, double seconds, const LoadResult& awake,
                          LoadCurves& curves);

}  // namespace tilescope::validate
