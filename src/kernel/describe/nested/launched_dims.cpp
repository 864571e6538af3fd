#include "kernel/describe/nested/launched_dims.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>

#include "kernel/code/sass/encoding.h"
#include "kernel/code/sass/kinds.h"
#include "kernel/code/trace/thread_run.h"
#include "kernel/describe/nested/nested_loop.h"
#include "kernel/describe/stores.h"

namespace tilescope {

LaunchedDims launched_head_dims(const CodeSummary& code, const TracedLaunch& launch, const AttentionFacts& facts) {
  constexpr std::int64_t most_instructions = 4'000'000;
  const FoundLoop nested = nested_loop(code);
  if (!nested.loop || !nested.loop->nested || !nested.loop->nested->scores) return {};
  const ThreadMachine machine(code.section, launch);
  const ThreadRun run = machine.run({0, 0, 0}, {0, 0, 0}, most_instructions);
  LaunchedDims found{.dims = {}, .varies = run.varies};
  const std::uint64_t header = code.loops[*nested.loop->nested->scores].header;
  // The loop stands behind code that every step with products executes once.
  const std::size_t before = header / instruction_bytes - 1;
  const std::int64_t steps = run.executed[before], all = run.executed[header / instruction_bytes];
  if (steps == 0 || all % steps != 0) return found;
  const std::int64_t most = all / steps * facts.depth_of_pass;
  for (std::size_t i = 0; i < launch.varying.size(); ++i)
    if (machine.words_read().contains(launch.varying[i])) found.varies |= varying_bit(i);
  std::set<std::int64_t> fits;
  for (const std::int64_t offset : machine.words_read()) {
    if (offset + 4 > static_cast<std::int64_t>(launch.parameters.size())) continue;
    std::int32_t value = 0;
    std::memcpy(&value, launch.parameters.data() + offset, sizeof(value));
    if (value > most - facts.depth_of_pass && value <= most) fits.insert(value);
  }
  if (fits.size() == 1 && *fits.begin() <= facts.v_head_dim) found.dims = {*fits.begin(), *fits.begin()};
  return found;
}

LaunchedRows leaves_out_rows(const CodeSummary& code, const TracedLaunch& launch) {
  constexpr std::int64_t most_instructions = 1'000'000;
  constexpr std::uint32_t lanes = 32;
  const ThreadMachine machine(code.section, launch);
  LaunchedRows found;
  const std::uint32_t row = launch.block[0], threads = row * launch.block[1] * launch.block[2];
  for (std::uint32_t thread = 0; thread < threads; thread += lanes) {
    const ThreadRun run = machine.run(
        {0, 0, 0}, {thread % row, thread / row % launch.block[1], thread / row / launch.block[1]}, most_instructions);
    found.varies |= run.varies;
    if (!run.stopped.empty() || run.guesses > 0) return found;
    for (std::size_t i = 0; i < run.executed.size(); ++i)
      if (run.executed[i] > 0 && is_row_store(code.section.instructions[i])) return found;
  }
  found.left_out = true;
  return found;
}

LaunchedStages stages_of_copies(const CodeSummary& code, const TracedLaunch& launch, std::int64_t bytes_of_pass) {
  constexpr std::int64_t most_instructions = 1'000'000, wide_copy = 16;
  const ThreadRun run = ThreadMachine(code.section, launch).run({0, 0, 0}, {0, 0, 0}, most_instructions);
  std::map<std::uint16_t, std::map<std::int64_t, int>> times;  // by array and place
  for (const TracedAccess& access : run.accesses)
    if (access.shared >= 0) ++times[access.origin][access.shared];
  std::int64_t bytes = 0;
  for (const auto& [array, places] : times)
    if (std::any_of(places.begin(), places.end(), [](const auto& place) { return place.second > 1; }))
      bytes += wide_copy * static_cast<std::int64_t>(places.size());
  const bool whole = bytes_of_pass > 0 && bytes % bytes_of_pass == 0;
  return {.stages = whole ? bytes / bytes_of_pass : 0, .varies = run.varies};
}

LaunchedEnds ends_of_warpgroups(const CodeSummary& code, const TracedLaunch& launch) {
  constexpr std::int64_t most_instructions = 4'000'000;
  constexpr std::uint32_t warpgroup = 128;
  const ThreadMachine machine(code.section, launch);
  const auto& instructions = code.section.instructions;
  const std::uint32_t row = launch.block[0], threads = row * launch.block[1] * launch.block[2];
  LaunchedEnds found;
  for (const std::array<std::uint32_t, 3>& block :
       {std::array<std::uint32_t, 3>{0, 0, 0}, {launch.grid[0] - 1, launch.grid[1] - 1, launch.grid[2] - 1}}) {
    std::map<std::size_t, std::int64_t> times;  // by instruction, of the first warpgroup that executes it
    for (std::uint32_t thread = 0; thread < threads; thread += warpgroup) {
      const ThreadRun run = machine.run(
          block, {thread % row, thread / row % launch.block[1], thread / row / launch.block[1]}, most_instructions);
      found.varies |= run.varies;
      if (!run.stopped.empty() || run.guesses > 0) return {.differ = false, .varies = found.varies};
      for (std::size_t i = 0; i < run.executed.size(); ++i)
        if (run.executed[i] > 0 && opcode_row(instructions[i].opcode).kind == InstructionKind::matrix)
          found.differ |= times.try_emplace(i, run.executed[i]).first->second != run.executed[i];
    }
  }
  return found;
}

}  // namespace tilescope
