#include "kernel/code/summary/code_summary.h"

#include <algorithm>
#include <charconv>

#include "kernel/code/summary/thread_arithmetic.h"

namespace tilescope {
namespace {

constexpr std::int64_t most_wait_instructions = 12;

std::span<const Instruction> code_of(const CodeSection& section, const BasicBlock& block) {
  return std::span(section.instructions).subspan(block.first, block.end - block.first);
}

std::vector<CodeBlock> blocks_of(const CodeSection& section, const FlowGraph& flow, const Dominators& dominators,
                                 const LoopForest& forest, const std::vector<WarpRole>& roles) {
  std::vector<CodeBlock> blocks;
  for (std::size_t i = 0; i < flow.blocks.size(); ++i) {
    const std::span<const Instruction> code = code_of(section, flow.blocks[i]);
    CodeBlock block{.first = code.front().address,
                    .last = code.back().address,
                    .begin = flow.blocks[i].first,
                    .end = flow.blocks[i].end,
                    .successors = flow.graph.successors[i],
                    .loop = forest.innermost[i],
                    .roles = {},
                    .reached = dominators.reached[i],
                    .counts = counts_of(code)};
    for (std::size_t role = 0; role < roles.size(); ++role)
      if (roles[role].reaches[i]) block.roles.push_back(role);
    blocks.push_back(std::move(block));
  }
  return blocks;
}

// Tries for a barrier or for registers, and nothing that computes or moves data.
bool only_waits(const CodeCounts& counts) {
  using K = InstructionKind;
  const bool tries = counts.of(K::mbarrier) > 0 || counts.of(K::registers) > 0;
  const bool works = counts.of(K::matrix) + counts.of(K::special) + counts.of(K::store) + counts.of(K::async_copy) > 0;
  return tries && !works && counts.instructions <= most_wait_instructions;
}

std::vector<CodeLoop> loops_with_counts(const CodeSection& section, const FlowGraph& flow, const Dominators& dominators,
                                        const LoopForest& forest, const std::vector<CodeBlock>& blocks) {
  std::vector<CodeLoop> loops;
  for (std::size_t i = 0; i < forest.loops.size(); ++i) {
    const NaturalLoop& found = forest.loops[i];
    CodeLoop loop{.header = section.instructions[flow.blocks[found.header].first].address,
                  .parent = found.parent,
                  .depth = found.depth,
                  .blocks = {},
                  .main_path = {},
                  .roles = blocks[found.header].roles,
                  .always = {},
                  .sometimes = {}};
    for (const std::size_t node : found.nodes) {
      if (forest.innermost[node] != i) continue;
      loop.blocks.push_back(node);
      const bool always = std::all_of(found.latches.begin(), found.latches.end(),
                                      [&](std::size_t latch) { return dominators.dominates(node, latch); });
      (always ? loop.always : loop.sometimes) += blocks[node].counts;
      if (always) loop.main_path.push_back(node);
    }
    // Blocks that dominate the same block dominate each other: their order is that of execution.
    std::sort(loop.main_path.begin(), loop.main_path.end(),
              [&](std::size_t a, std::size_t b) { return a != b && dominators.dominates(a, b); });
    CodeCounts all = loop.always;
    loop.waits = only_waits(all += loop.sometimes);
    loops.push_back(std::move(loop));
  }
  return loops;
}

// The number that USETMAXREG sets: its last operand.
std::optional<std::int64_t> set_registers(const Instruction& instruction) {
  if (opcode_row(instruction.opcode).kind != InstructionKind::registers || instruction.operands.empty())
    return std::nullopt;
  const std::string& text = instruction.operands.back();
  std::int64_t value = 0;
  if (!text.starts_with("0x")) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

CodeRole role_of(std::size_t index, const WarpRole& found, const CodeSection& section,
                 const std::vector<CodeBlock>& blocks, const std::vector<CodeLoop>& loops) {
  CodeRole role{.warps = found.warps, .loops = {}, .own = {}, .shared = {}};
  std::vector<std::int64_t> registers;
  for (const CodeBlock& block : blocks) {
    if (std::count(block.roles.begin(), block.roles.end(), index) == 0) continue;
    (block.roles.size() == 1 ? role.own : role.shared) += block.counts;
    for (std::size_t i = block.begin; i < block.end; ++i)
      if (const auto value = set_registers(section.instructions[i])) registers.push_back(*value);
  }
  if (registers.size() == 1) role.registers = registers.front();
  for (std::size_t loop = 0; loop < loops.size(); ++loop)
    if (std::count(loops[loop].roles.begin(), loops[loop].roles.end(), index) > 0) role.loops.push_back(loop);
  return role;
}

}  // namespace

CodeSummary summarise(CodeSection section, std::int64_t most_threads) {
  const FlowGraph flow = flow_graph(section);
  const Dominators dominators = dominators_of(flow.graph);
  const LoopForest forest = loops_of(flow.graph, dominators);
  CodeSummary summary;
  summary.warps =
      most_threads > 0
          ? static_cast<int>(std::clamp<std::int64_t>((most_threads + warp_threads - 1) / warp_threads, 1, most_warps))
          : most_warps;
  const std::vector<WarpRole> roles = warp_roles(section, flow, forest, summary.warps);
  summary.blocks = blocks_of(section, flow, dominators, forest, roles);
  summary.loops = loops_with_counts(section, flow, dominators, forest, summary.blocks);
  for (std::size_t i = 0; i < roles.size(); ++i)
    summary.roles.push_back(role_of(i, roles[i], section, summary.blocks, summary.loops));
  for (const CodeBlock& block : summary.blocks)
    if (block.reached) summary.counts += block.counts;
  for (const auto& [from, to] : forest.irreducible)
    summary.irreducible.emplace_back(section.instructions[flow.blocks[from].end - 1].address,
                                     section.instructions[flow.blocks[to].first].address);
  summary.unknown_targets = flow.unknown_targets;
  summary.section = std::move(section);
  return summary;
}

}  // namespace tilescope
