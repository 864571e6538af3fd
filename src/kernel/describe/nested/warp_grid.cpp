#include "kernel/describe/nested/warp_grid.h"

#include <set>

#include "kernel/describe/followed.h"

namespace tilescope {
namespace {

constexpr std::int64_t most_warp_instructions = 20'000;

// Where the first lane of each warp reads the operand; fewer than there are warps: not known.
std::vector<std::uint32_t> addresses_of(const CodeSummary& code, std::size_t load, bool wide, std::int64_t warps) {
  const ThreadMachine machine(code.section, launch_of_warps(wide, warps));
  const std::vector<std::uint32_t> distance = distances_to(code, block_of(code, load));
  std::vector<std::uint32_t> addresses;
  for (std::int64_t warp = 0; warp < warps; ++warp) {
    const ThreadRun run = machine.run({0, 0, 0}, first_lane(wide, warp), most_warp_instructions, distance);
    if (const auto found = run.matrix_loads.find(load); found != run.matrix_loads.end())
      addresses.push_back(found->second);
  }
  return addresses;
}

std::optional<UnitGrid> grid_of(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  if (a.size() != b.size()) return std::nullopt;
  std::set<std::pair<std::uint32_t, std::uint32_t>> parts;
  for (std::size_t i = 0; i < a.size(); ++i) parts.emplace(a[i], b[i]);
  const UnitGrid grid{static_cast<std::int64_t>(std::set(a.begin(), a.end()).size()),
                      static_cast<std::int64_t>(std::set(b.begin(), b.end()).size())};
  const bool whole = parts.size() == a.size() && grid.rows * grid.columns == static_cast<std::int64_t>(a.size());
  return whole ? std::optional(grid) : std::nullopt;
}

}  // namespace

std::optional<UnitGrid> warp_grid(const CodeSummary& code, std::size_t a, std::size_t b, std::int64_t warps) {
  for (const bool wide : {false, true}) {
    const std::vector<std::uint32_t> left = addresses_of(code, a, wide, warps),
                                     right = addresses_of(code, b, wide, warps);
    if (static_cast<std::int64_t>(left.size()) != warps) continue;
    if (const auto grid = grid_of(left, right)) return grid;
  }
  return std::nullopt;
}

}  // namespace tilescope
