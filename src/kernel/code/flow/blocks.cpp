#include "kernel/code/flow/blocks.h"

#include <algorithm>

#include "kernel/code/sass/encoding.h"

namespace tilescope {
namespace {

bool one_of(const std::string& opcode, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), opcode) != names.end();
}

bool is_indirect(const std::string& opcode) { return one_of(opcode, {"BRX", "BRXU", "JMX", "JMXU"}); }

}  // namespace

Transfer transfer_of(const Instruction& instruction) {
  const bool always = instruction.guard.kind == Guard::Kind::always;
  if (instruction.guard.kind == Guard::Kind::never) return {};
  if (one_of(instruction.opcode, {"BRA", "JMP"})) {
    const bool conditional = !always || !instruction.reads.empty() || instruction.has("DIV") || instruction.has("CONV");
    return {.ends_block = true, .falls_through = conditional, .jumps = true};
  }
  if (is_indirect(instruction.opcode)) return {.ends_block = true, .falls_through = !always, .jumps = true};
  if (one_of(instruction.opcode, {"EXIT", "RET", "KILL", "RTT"})) return {.ends_block = true, .falls_through = !always};
  if (instruction.opcode == "CALL") return {.ends_block = true};
  if (instruction.opcode == "WARPSYNC" && !instruction.targets.empty()) return {.ends_block = true, .jumps = true};
  return {};
}

std::size_t FlowGraph::block_at(std::uint64_t address) const {
  return block_of[static_cast<std::size_t>(address / instruction_bytes)];
}

FlowGraph flow_graph(const CodeSection& section) {
  const std::vector<Instruction>& code = section.instructions;
  std::vector<bool> leads(code.size() + 1, false);
  std::vector<bool> enters(code.size(), false);
  leads[0] = enters[0] = true;
  const auto index_of = [](std::uint64_t address) { return static_cast<std::size_t>(address / instruction_bytes); };
  for (const auto& [address, name] : section.functions)
    if (index_of(address) < code.size()) leads[index_of(address)] = enters[index_of(address)] = true;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const Transfer transfer = transfer_of(code[i]);
    if (transfer.ends_block) leads[i + 1] = true;
    if (transfer.jumps || code[i].opcode == "CALL")
      for (const std::uint64_t target : code[i].targets) leads[index_of(target)] = true;
    if (code[i].opcode == "CALL")
      for (const std::uint64_t target : code[i].targets) enters[index_of(target)] = true;
  }
  FlowGraph flow;
  flow.block_of.resize(code.size());
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (leads[i]) flow.blocks.push_back({.first = i, .end = i});
    if (enters[i]) flow.graph.roots.push_back(flow.blocks.size() - 1);
    flow.blocks.back().end = i + 1, flow.block_of[i] = flow.blocks.size() - 1;
  }
  flow.graph.successors.resize(flow.blocks.size());
  for (std::size_t block = 0; block < flow.blocks.size(); ++block) {
    const Instruction& last = code[flow.blocks[block].end - 1];
    const Transfer transfer = transfer_of(last);
    std::vector<std::size_t>& next = flow.graph.successors[block];
    if (transfer.jumps)
      for (const std::uint64_t target : last.targets) next.push_back(flow.block_at(target));
    if (transfer.jumps && last.targets.empty()) flow.unknown_targets = true;
    if (transfer.falls_through && block + 1 < flow.blocks.size()) next.push_back(block + 1);
    if (transfer.falls_through && block + 1 == flow.blocks.size()) flow.leaves_end = true;
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
  }
  return flow;
}

}  // namespace tilescope
