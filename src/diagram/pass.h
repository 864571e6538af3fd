// The passes of a network's training.
#pragma once

#include <array>

#include "base/enum_table.h"

namespace tilescope {

enum class Pass { forward, backward };
struct PassRow {
  Pass value;
  std::string_view name;
  std::string_view schedule;  // of the pass, where no other is asked for
};
template <>
struct EnumTable<Pass> {
  static constexpr std::array rows{PassRow{Pass::forward, "forward", "flash2"},
                                   PassRow{Pass::backward, "backward", "flash2-backward"}};
};

}  // namespace tilescope
