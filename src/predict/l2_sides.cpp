#include "predict/l2_sides.h"

#include <algorithm>
#include <bit>

namespace tilescope {
namespace {

// How many of the blocks each group of units takes.
std::vector<std::int64_t> shares(const std::vector<UnitGroup>& groups, std::int64_t blocks) {
  std::vector<std::int64_t> taken(groups.size(), 0);
  taken.front() = std::min(groups.front().units, blocks);
  blocks -= taken.front();
  for (const std::int64_t pair : {2, 1})
    for (bool dealt = true; blocks > 0 && dealt;) {
      dealt = false;
      for (std::size_t g = 1; g < groups.size() && blocks > 0; ++g)
        if (taken[g] < groups[g].units / pair) ++taken[g], --blocks, dealt = true;
    }
  return taken;
}

}  // namespace

std::vector<int> sides_of_blocks(const HardwareProfile& hardware, int partitions, std::int64_t blocks) {
  const std::int64_t units = std::max<std::int64_t>(1, hardware.units.value);
  blocks = std::clamp<std::int64_t>(blocks, 1, units);
  std::vector<int> sides;
  if (hardware.l2_groups) {
    const std::vector<UnitGroup>& groups = hardware.l2_groups->value;
    const std::vector<std::int64_t> taken = shares(groups, blocks);
    for (std::size_t g = 0; g < groups.size(); ++g)
      sides.insert(sides.end(), static_cast<std::size_t>(taken[g]), groups[g].partition % partitions);
  }
  while (static_cast<std::int64_t>(sides.size()) < units) sides.push_back(std::popcount(sides.size()) % partitions);
  return sides;
}

}  // namespace tilescope
