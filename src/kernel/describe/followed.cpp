#include "kernel/describe/followed.h"

#include <algorithm>
#include <map>
#include <set>

#include "kernel/code/sass/encoding.h"

namespace tilescope {
namespace {

constexpr std::int64_t most_followed = 60'000;
constexpr std::int64_t least_passes = 4;
constexpr std::uint32_t followed_lanes = 32;

ThreadRun run_in_loop(const CodeSummary& code, std::size_t loop, std::int64_t warp) {
  const std::size_t header = block_of(code, code.loops[loop].header / instruction_bytes);
  return ThreadMachine(code.section, launch_of_warps(false, code.warps))
      .run({0, 0, 0}, first_lane(false, warp), most_followed, distances_to(code, header));
}

// `each` times `whole`, but for the pass that was under way.
std::optional<std::int64_t> ratio_of(std::int64_t count, std::int64_t whole) {
  if (whole < least_passes || count < whole - 1) return std::nullopt;
  const std::int64_t each = (count + whole / 2) / whole;
  if (std::abs(count - each * whole) > each) return std::nullopt;
  return each;
}

}  // namespace

std::vector<std::uint32_t> distances_to(const CodeSummary& code, std::size_t target) {
  constexpr std::uint32_t far = ~std::uint32_t{0};
  std::vector<std::uint32_t> of_block(code.blocks.size(), far), of_instruction(code.section.instructions.size(), far);
  if (target < of_block.size()) of_block[target] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < code.blocks.size(); ++i)
      for (const std::size_t next : code.blocks[i].successors)
        if (of_block[next] != far && of_block[next] + 1 < of_block[i]) of_block[i] = of_block[next] + 1, changed = true;
  }
  for (std::size_t i = 0; i < code.blocks.size(); ++i)
    for (std::size_t k = code.blocks[i].begin; k < code.blocks[i].end; ++k) of_instruction[k] = of_block[i];
  return of_instruction;
}

std::size_t block_of(const CodeSummary& code, std::size_t instruction) {
  const auto found = std::find_if(code.blocks.begin(), code.blocks.end(), [&](const CodeBlock& block) {
    return block.begin <= instruction && instruction < block.end;
  });
  return static_cast<std::size_t>(found - code.blocks.begin());
}

std::array<std::uint32_t, 3> first_lane(bool wide, std::int64_t warp) {
  const auto index = static_cast<std::uint32_t>(warp);
  return wide ? std::array<std::uint32_t, 3>{0, index, 0} : std::array<std::uint32_t, 3>{index * followed_lanes, 0, 0};
}

TracedLaunch launch_of_warps(bool wide, std::int64_t warps) {
  const auto count = static_cast<std::uint32_t>(warps);
  TracedLaunch launch;
  if (wide) launch.block = {followed_lanes, count, 1};
  else launch.block = {followed_lanes * count, 1, 1};
  return launch;
}

FollowedLoop::FollowedLoop(const CodeSummary& code, std::size_t loop, std::int64_t warp)
    : code_(code), loop_(loop), run_(run_in_loop(code, loop, warp)), passes_(executed_at(code.loops[loop].header)) {}

std::int64_t FollowedLoop::executed_at(std::uint64_t address) const {
  const std::size_t at = address / instruction_bytes;
  return at < run_.executed.size() ? run_.executed[at] : 0;
}

std::optional<std::int64_t> FollowedLoop::passes_of(std::size_t inner) const {
  for (const std::size_t block : code_.loops[inner].blocks)
    if (run_.undecided.contains(code_.blocks[block].end - 1)) return std::nullopt;
  const std::optional<std::int64_t> passes = ratio_of(executed_at(code_.loops[inner].header), passes_);
  return passes && *passes > 0 ? passes : std::nullopt;
}

std::optional<std::int64_t> FollowedLoop::passes_of_wait() const {
  std::map<std::size_t, std::vector<TracedWait>> waits;  // by instruction, without those for the phase before
  std::map<std::size_t, std::int64_t> known;
  for (const TracedWait& wait : run_.waits) {
    if (code_.blocks[block_of(code_, wait.instruction)].loop != loop_) continue;
    std::vector<TracedWait>& of = waits[wait.instruction];
    ++known[wait.instruction];
    if (of.empty() || of.back().address != wait.address || of.back().phase != wait.phase) of.push_back(wait);
  }
  std::int64_t most = 0;
  for (const auto& [instruction, of] : waits)
    if (known[instruction] == run_.executed[instruction]) most = std::max(most, static_cast<std::int64_t>(of.size()));
  return most == 0 ? std::nullopt : ratio_of(passes_, most);
}

std::vector<std::int64_t> FollowedLoop::expected_bytes() const {
  std::set<std::int64_t> bytes;
  for (const std::size_t block : code_.loops[loop_].blocks)
    for (std::size_t i = code_.blocks[block].begin; i < code_.blocks[block].end; ++i)
      if (const auto found = run_.expected_bytes.find(i); found != run_.expected_bytes.end())
        bytes.insert(found->second);
  return {bytes.begin(), bytes.end()};
}

}  // namespace tilescope
