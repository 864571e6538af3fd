#include "kernel/code/summary/roles.h"

#include <algorithm>

#include "kernel/code/sass/kinds.h"

namespace tilescope {
namespace {

std::vector<bool> reached_by(int warp, const FlowGraph& flow, const CodeSection& section,
                             const std::vector<WarpChoice>& choices) {
  std::vector<bool> reached(flow.blocks.size(), false);
  std::vector<std::size_t> waiting{flow.graph.roots.front()};
  reached[waiting.front()] = true;
  const auto visit = [&](std::size_t block) {
    if (!reached[block]) reached[block] = true, waiting.push_back(block);
  };
  while (!waiting.empty()) {
    const std::size_t block = waiting.back();
    waiting.pop_back();
    const Instruction& last = section.instructions[flow.blocks[block].end - 1];
    for (const std::uint64_t target : last.targets)
      if ((choices[block].jumps[warp] && transfer_of(last).jumps) || last.opcode == "CALL")
        visit(flow.block_at(target));
    if (choices[block].goes_on[warp] && block + 1 < flow.blocks.size()) visit(block + 1);
  }
  return reached;
}

// What tells roles apart: the loops that a warp enters and the changes of its registers.
std::vector<bool> signature(const std::vector<bool>& reached, const FlowGraph& flow, const CodeSection& section,
                            const LoopForest& forest) {
  std::vector<bool> marks;
  for (const NaturalLoop& loop : forest.loops) marks.push_back(reached[loop.header]);
  for (std::size_t block = 0; block < flow.blocks.size(); ++block)
    for (std::size_t i = flow.blocks[block].first; i < flow.blocks[block].end; ++i)
      if (opcode_row(section.instructions[i].opcode).kind == InstructionKind::registers)
        marks.push_back(reached[block]);
  return marks;
}

}  // namespace

std::vector<WarpRole> warp_roles(const CodeSection& section, const FlowGraph& flow, const LoopForest& forest,
                                 int warps) {
  const std::vector<WarpChoice> choices = warp_choices(section, flow);
  std::vector<WarpRole> roles;
  std::vector<std::vector<bool>> signatures;
  for (int warp = 0; warp < std::clamp(warps, 1, most_warps); ++warp) {
    const std::vector<bool> reached = reached_by(warp, flow, section, choices);
    const std::vector<bool> marks = signature(reached, flow, section, forest);
    const auto place =
        static_cast<std::size_t>(std::find(signatures.begin(), signatures.end(), marks) - signatures.begin());
    if (place == signatures.size()) {
      signatures.push_back(marks);
      roles.push_back({.warps = {}, .reaches = std::vector<bool>(flow.blocks.size(), false)});
    }
    WarpRole& role = roles[place];
    if (!role.warps.empty() && role.warps.back().second == warp - 1) role.warps.back().second = warp;
    else role.warps.emplace_back(warp, warp);
    for (std::size_t block = 0; block < reached.size(); ++block)
      if (reached[block]) role.reaches[block] = true;
  }
  return roles;
}

}  // namespace tilescope
