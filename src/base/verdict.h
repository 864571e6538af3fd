// What a comparison of a prediction with a measurement says.
#pragma once

#include <array>

#include "base/enum_table.h"

namespace tilescope {

enum class Verdict { pass, fail, info };  // info: shown, not judged
template <>
struct EnumTable<Verdict> {
  static constexpr std::array rows{NamedKind{Verdict::pass, "pass"}, NamedKind{Verdict::fail, "fail"},
                                   NamedKind{Verdict::info, "info"}};
};

}  // namespace tilescope
