// Which parts of the time model are at work: all of them, unless somebody asks what one of them is worth.
#pragma once

#include <cstdint>

#include "base/enum_table.h"

namespace tilescope {

// Which program of a step runs on the simulated SM: the kernel's machine code, or where that is not known one that its
// counts imply; the second for all kernels.
enum class SmEngine : std::uint8_t { simulated, synthesised };
template <>
struct EnumTable<SmEngine> {
  static constexpr std::array rows{NamedKind{SmEngine::simulated, "simulated"},
                                   NamedKind{SmEngine::synthesised, "synthesised"}};
};

struct TimeChoices {
  std::uint64_t without = 0;  // a bit each Mechanism (predict/point/mechanisms.h)
  SmEngine engine = SmEngine::simulated;
};

}  // namespace tilescope
