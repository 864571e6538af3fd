// A 32-bit value of one thread, if it is known, and the pointer parameter that it was computed from.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilescope {

// Which words of TracedLaunch::varying something depends on: a bit for each, the last one for all that follow it too.
using VaryingWords = std::uint64_t;
constexpr VaryingWords varying_bit(std::size_t place) { return VaryingWords{1} << (place < 63 ? place : 63); }

struct Word {
  std::uint32_t value = 0;
  bool known = false;
  bool loaded = false;       // of an unknown one: it follows from an integer that was loaded from memory
  std::uint16_t origin = 0;  // 1 + the offset of a pointer among the parameters; 0: none
  VaryingWords varies = 0;

  static Word of(std::uint32_t value, std::uint16_t origin = 0) {
    return {.value = value, .known = true, .origin = origin};
  }
};

}  // namespace tilescope
