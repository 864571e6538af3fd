#include "diagram/tile_limits.h"

#include <fmt/format.h>

#include "diagram/workload.h"

namespace tilescope {

std::optional<std::string> tile_problem(std::string_view name, std::int64_t value, std::int64_t least) {
  const std::int64_t most = name == "warps" || name == "stages" ? largest_warps : largest_extent;
  if (value >= least && value <= most) return std::nullopt;
  return fmt::format("must be from {} to {}, found {}", least, most, value);
}

}  // namespace tilescope
