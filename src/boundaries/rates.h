// The memory inside each boundary of a GPU and the rate across it, published and measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hardware/profile.h"

namespace tilescope {

struct BoundaryRate {
  double bytes_per_second = 0;  // whole device
  bool measured = false;
  std::string source;  // id in HardwareProfile::sources
};

struct BoundaryMemory {
  std::string name;                   // "hbm -> l2"
  std::string what;                   // the memory inside it
  double bytes = 0;                   // its capacity
  LevelId outer{};                    // the level whose rate the boundary has
  std::vector<BoundaryRate> rates{};  // measured before published; empty: the profile states none
};

// Rates at which a level serves the device, measured before published.
std::vector<BoundaryRate> rates_of(const HardwareProfile& hardware, LevelId id);

// Outermost first; a boundary whose memory the profile does not state is left out.
std::vector<BoundaryMemory> boundaries_of(const HardwareProfile& hardware);

}  // namespace tilescope
