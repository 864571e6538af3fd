#pragma once

#include <cstring>

namespace tilescope {

// The bits of a value as another type: std::bit_cast, which Emscripten's library does not have yet.
template <class To, class From>
To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

}  // namespace tilescope
