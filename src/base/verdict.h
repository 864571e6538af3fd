// What a comparison of a prediction with a measurement says.
#pragma once

#include <array>

#include "base/enum_table.h"

namespace tilescope {

enum class Verdict { pass, fail, info };  // info: shown, not judged
struct VerdictRow {
  Verdict value;
  std::string_view name;
};
template <>
struct EnumTable<Verdict> {
  static constexpr std::array rows{VerdictRow{Verdict::pass, "pass"}, VerdictRow{Verdict::fail, "fail"},
                                   VerdictRow{Verdict::info, "info"}};
};

}  // namespace tilescope
