#include "kernel/describe/stores.h"

#include <algorithm>
#include <map>
#include <set>

#include "kernel/code/sass/kinds.h"
#include "kernel/code/trace/thread_run.h"

namespace tilescope {
namespace {

constexpr std::int64_t most_instructions_of_lane = 200'000;
constexpr std::uint32_t lanes_of_row_store = 32;

bool is_row_store(const Instruction& i) {
  const OpcodeRow& row = opcode_row(i.opcode);
  return row.kind == InstructionKind::store && row.memory == CodeMemory::global &&
         std::none_of(i.modifiers.begin(), i.modifiers.end(), [](const std::string& modifier) {
           return modifier == "64" || modifier == "128" || modifier == "U8" || modifier == "S8" || modifier == "U16" ||
                  modifier == "S16";
         });
}

bool stores_results(const CodeBlock& block) {
  return std::any_of(block.counts.memory.begin(), block.counts.memory.end(), [](const auto& entry) {
    const MemoryForm& form = entry.first;
    return (form.kind == InstructionKind::store && form.memory == CodeMemory::global) || form.opcode == "UTMASTG";
  });
}

std::int64_t opcodes_of(const CodeCounts& counts, std::string_view name) {
  std::int64_t sum = 0;
  for (const auto& [mnemonic, count] : counts.opcodes)
    if (mnemonic.substr(0, mnemonic.find('.')) == name) sum += count;
  return sum;
}

}  // namespace

std::int64_t rows_stored_at_once(const CodeSummary& code, std::int64_t warp, std::int64_t threads) {
  TracedLaunch launch;
  launch.block = {static_cast<std::uint32_t>(threads), 1, 1};
  const ThreadMachine machine(code.section, launch);
  std::map<std::size_t, std::int64_t> rows;  // by block of code
  for (std::uint32_t lane = 0; lane < lanes_of_row_store; ++lane) {
    const auto thread = static_cast<std::uint32_t>(warp) * lanes_of_row_store + lane;
    std::set<std::size_t> stores;  // a lane stores a row once
    for (const TracedAccess& access : machine.run({0, 0, 0}, {thread, 0, 0}, most_instructions_of_lane).accesses)
      if (is_row_store(code.section.instructions[access.instruction])) stores.insert(access.instruction);
    for (const std::size_t store : stores)
      for (std::size_t block = 0; block < code.blocks.size(); ++block)
        if (code.blocks[block].begin <= store && store < code.blocks[block].end &&
            !code.blocks[block].counts.of(InstructionKind::matrix))
          ++rows[block];
  }
  std::int64_t most = 0;
  for (const auto& [block, count] : rows) most = std::max(most, count);
  return most;
}

bool stores_without_product(const CodeSummary& code) {
  std::vector<bool> seen(code.blocks.size());
  std::vector<std::size_t> waiting{0};
  seen[0] = true;
  while (!waiting.empty()) {
    const CodeBlock& block = code.blocks[waiting.back()];
    waiting.pop_back();
    if (block.counts.of(InstructionKind::matrix) > 0) continue;
    if (stores_results(block)) return true;
    for (const std::size_t next : block.successors)
      if (!seen[next]) seen[next] = true, waiting.push_back(next);
  }
  return false;
}

bool rewrites_tiles(const CodeSummary& code) {
  return std::any_of(code.loops.begin(), code.loops.end(), [](const CodeLoop& loop) {
    CodeCounts pass = loop.always;
    pass += loop.sometimes;
    return pass.of(InstructionKind::matrix) == 0 && opcodes_of(pass, "LDSM") > 0 && opcodes_of(pass, "STSM") > 0;
  });
}

}  // namespace tilescope
