// Traffic that no schedule can beat at a boundary, beside what this one moves there (src/optimum/lower_bound.h).
#pragma once

#include <string>
#include <vector>

#include "predict/prediction.h"

namespace tilescope {

struct TrafficBound {
  Boundary boundary = Boundary::hbm;  // hbm: the memory is all that is on the chip; l2: what one block can hold
  int island = -1;                    // -1: of the whole schedule
  std::string name{}, source{};
  double memory_bytes = 0;  // 0: the bound does not depend on it
  double bytes = 0;
  std::int64_t moved_bytes = 0;  // by this schedule or island

  double times() const { return bytes > 0 ? static_cast<double>(moved_bytes) / bytes : 0; }
};

// At hbm and at l2: the compulsory bytes; the bound of attention, for the scores that the mask leaves; and the bound of
// a matmul for every island that is one contraction and nothing else. A bound that is no more than zero is left out,
// and so is one whose memory the profile does not state.
std::vector<TrafficBound> lower_bounds(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                                       const Prediction& prediction);

// The strongest of them at hbm for the whole schedule, rounded down; at least the compulsory bytes.
std::int64_t lower_bound_bytes(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                               const Prediction& prediction);

}  // namespace tilescope
