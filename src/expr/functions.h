// The functions an expression may call, in the order of enum Function.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "expr/expression.h"

namespace tilescope {

struct FunctionRow {
  std::string_view name;
  std::size_t arguments;
};

inline constexpr std::array<FunctionRow, 11> function_table{{{"exp", 1},
                                                             {"log", 1},
                                                             {"sqrt", 1},
                                                             {"rsqrt", 1},
                                                             {"tanh", 1},
                                                             {"sigmoid", 1},
                                                             {"abs", 1},
                                                             {"square", 1},
                                                             {"max", 2},
                                                             {"min", 2},
                                                             {"pow", 2}}};

std::optional<Function> function_named(std::string_view name);

}  // namespace tilescope
