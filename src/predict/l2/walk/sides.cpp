#include "predict/l2/walk/sides.h"

#include <algorithm>
#include <bit>

#include "predict/point/order/first_blocks.h"

namespace tilescope {

std::vector<int> sides_of_blocks(const HardwareProfile& hardware, int partitions, std::int64_t blocks) {
  const std::int64_t units = std::max<std::int64_t>(1, hardware.units.value);
  blocks = std::clamp<std::int64_t>(blocks, 1, units);
  std::vector<int> sides;
  if (hardware.l2_groups) {
    const std::vector<UnitGroup>& groups = hardware.l2_groups->value;
    const std::vector<std::int64_t> taken = shares_of_groups(groups, blocks);
    for (std::size_t g = 0; g < groups.size(); ++g)
      sides.insert(sides.end(), static_cast<std::size_t>(taken[g]), groups[g].partition % partitions);
  }
  while (static_cast<std::int64_t>(sides.size()) < units) sides.push_back(std::popcount(sides.size()) % partitions);
  return sides;
}

}  // namespace tilescope
