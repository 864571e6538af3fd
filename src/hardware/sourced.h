// A number together with where it comes from.
#pragma once

#include <string>

namespace tilescope {

template <class T>
struct Sourced {
  T value{};
  std::string source;  // id in HardwareProfile::sources
};

}  // namespace tilescope
