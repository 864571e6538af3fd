// SYNTHETIC TEST DATA for the tests of the pages: the "measured" numbers come from a fixed pseudo-random sequence; no
// GPU was involved.
#pragma once

#include <cstdint>

#include "analysis/family/model.h"
#include "analysis/report/model.h"

namespace tilescope::page_test {

// Numbers in [0, 1), the same in every run.
class Random {
 public:
  explicit Random(std::uint32_t seed) : state_(seed) {}
  double next() { return (state_ = state_ * 1103515245 + 12345) / 4294967296.0; }
  double near(double value, double spread) { return value * (1 + (next() - 0.5) * 2 * spread); }

 private:
  std::uint32_t state_;
};

// 60 points of two kernels; two points are not measured, one number lies outside its tolerance.
analysis::Report report_fixture();

// 40 records of two kernels of ours and one of a library.
analysis::Pictures pictures_fixture();

// Four kernels, one of them of a third party, and three ladders.
analysis::FamilyPage family_fixture();

}  // namespace tilescope::page_test
