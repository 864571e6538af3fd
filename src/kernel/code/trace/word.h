// A 32-bit value of one thread, if it is known, and the pointer parameter that it was computed from.
#pragma once

#include <cstdint>

namespace tilescope {

struct Word {
  std::uint32_t value = 0;
  bool known = false;
  std::uint16_t origin = 0;  // 1 + the offset of a pointer among the parameters; 0: none
  bool loaded = false;       // of an unknown one: it follows from an integer that was loaded from memory
  bool varies = false;       // it depends on a parameter of TracedLaunch::varying

  static Word of(std::uint32_t value, std::uint16_t origin = 0) {
    return {.value = value, .known = true, .origin = origin};
  }
};

}  // namespace tilescope
