// Which parts of the time model are at work: all of them, unless somebody asks what one of them is worth.
#pragma once

#include <cstdint>

#include "base/enum_table.h"

namespace tilescope {

// What gives the clocks of a step: the engine that is better on the records of the kernel; demands in a queueing
// network; a simulated SM, with the kernel's machine code, or where that is not known with a program that its counts
// imply; the same with such a program for all kernels.
enum class SmEngine : std::uint8_t { best, queues, simulated, synthesised };
template <>
struct EnumTable<SmEngine> {
  static constexpr std::array rows{NamedKind{SmEngine::best, "best"}, NamedKind{SmEngine::queues, "queues"},
                                   NamedKind{SmEngine::simulated, "simulated"},
                                   NamedKind{SmEngine::synthesised, "synthesised"}};
};

struct TimeChoices {
  std::uint64_t without = 0;  // a bit each Mechanism (predict/point/mechanisms.h)
  SmEngine engine = SmEngine::best;
};

}  // namespace tilescope
