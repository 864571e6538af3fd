// What a thread can know of its launch.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tilescope {

struct TracedLaunch {
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::string parameters;                // bytes; empty: not known
  std::vector<std::int64_t> addresses;   // offsets of pointers among them
  std::int64_t constant_offset = 0x210;  // of the first parameter in constant bank 0
  // Offsets of four-byte words among the parameters that differ between launches: a run says whether they matter.
  std::vector<std::int64_t> varying{};
};

}  // namespace tilescope
