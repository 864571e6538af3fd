// What the sizes of a tile may be, whoever states them: the command line, a record, an experiment, a published table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilescope {

inline constexpr std::int64_t largest_warps = 64;  // of a block, and stages of its pipeline

// Why `value` cannot be the size `name` ("q", "kv", "warps", "stages", "splits", ...), as in "must be from 1 to 64,
// found 65"; nothing: it can be. `least`: 0 where 0 stands for a size that is not stated.
std::optional<std::string> tile_problem(std::string_view name, std::int64_t value, std::int64_t least);

}  // namespace tilescope
