// Traffic as a function of the on-chip memory: every schedule a curve, and the lower bounds beneath.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "derive/derivation.h"

namespace tilescope {

struct MemoryCurve {
  std::string name;  // a named schedule, a bound, or "ranked 2: O, L [b:G]..."
  bool bound = false, named = false;
  std::vector<std::optional<double>> values;  // by MemoryCurves::memory; empty: not even tiles of 1 fit
};

struct MemoryCurves {
  double at = 0;               // the memory of the request
  bool bytes = false;          // memory and traffic are bytes; else values
  std::vector<double> memory;  // ascending
  std::vector<MemoryCurve> curves;
};

// Best tiles of the schedules at memories around that of the request, from 1/256 to 64 times it.
MemoryCurves memory_curves(const Derivation& derivation, const Diagram& diagram);

}  // namespace tilescope
