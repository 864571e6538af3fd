#include "kernel/describe/stores.h"

#include <algorithm>
#include <set>

#include "kernel/code/sass/kinds.h"
#include "kernel/code/trace/thread_run.h"
#include "kernel/describe/followed.h"

namespace tilescope {
namespace {

constexpr std::int64_t most_instructions_of_lane = 200'000;
constexpr std::uint32_t store_lanes = 32;

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

bool has_products(const CodeBlock& block) { return block.counts.of(InstructionKind::matrix) > 0; }

// Blocks to which a way leads from the start on which no product is.
std::vector<bool> reached_without_product(const CodeSummary& code) {
  std::vector<bool> reached(code.blocks.size());
  std::vector<std::size_t> waiting{0};
  reached[0] = true;
  while (!waiting.empty()) {
    const std::size_t block = waiting.back();
    waiting.pop_back();
    for (const std::size_t next : code.blocks[block].successors)
      if (!reached[next] && !has_products(code.blocks[next])) reached[next] = true, waiting.push_back(next);
  }
  return reached;
}

// Blocks that store a number of a row: those to which only products lead; where there are none, all.
std::vector<std::size_t> row_store_blocks(const CodeSummary& code) {
  const std::vector<bool> reached = reached_without_product(code);
  std::vector<std::size_t> all, behind_products;
  for (std::size_t i = 0; i < code.blocks.size(); ++i) {
    const CodeBlock& block = code.blocks[i];
    if (!block.reached || has_products(block)) continue;
    const auto first = code.section.instructions.begin();
    if (std::none_of(first + static_cast<std::ptrdiff_t>(block.begin), first + static_cast<std::ptrdiff_t>(block.end),
                     is_row_store))
      continue;
    all.push_back(i);
    if (!reached[i]) behind_products.push_back(i);
  }
  return behind_products.empty() ? all : behind_products;
}

}  // namespace

bool is_row_store(const Instruction& i) {
  const OpcodeRow& row = opcode_row(i.opcode);
  return row.kind == InstructionKind::store &&
         (row.memory == CodeMemory::global || row.memory == CodeMemory::generic) &&
         std::none_of(i.modifiers.begin(), i.modifiers.end(), [](const std::string& modifier) {
           return modifier == "64" || modifier == "128" || modifier == "U8" || modifier == "S8" || modifier == "U16" ||
                  modifier == "S16";
         });
}

std::int64_t rows_stored_at_once(const CodeSummary& code, std::int64_t warp, std::int64_t threads) {
  TracedLaunch launch;
  launch.block = {static_cast<std::uint32_t>(threads), 1, 1};
  const ThreadMachine machine(code.section, launch);
  std::vector<bool> stores_row;
  for (const Instruction& i : code.section.instructions) stores_row.push_back(is_row_store(i));
  std::int64_t most = 0;
  for (const std::size_t target : row_store_blocks(code)) {
    const std::vector<std::uint32_t> distance = distances_to(code, target);
    std::int64_t rows = 0;
    for (std::uint32_t lane = 0; lane < store_lanes; ++lane) {
      const auto thread = static_cast<std::uint32_t>(warp) * store_lanes + lane;
      std::set<std::size_t> stores;  // a lane stores a row once
      for (const TracedAccess& access :
           machine.run({0, 0, 0}, {thread, 0, 0}, most_instructions_of_lane, distance).accesses)
        if (code.blocks[target].begin <= access.instruction && access.instruction < code.blocks[target].end &&
            stores_row[access.instruction])
          stores.insert(access.instruction);
      rows += static_cast<std::int64_t>(stores.size());
    }
    most = std::max(most, rows);
  }
  return most;
}

bool stores_without_product(const CodeSummary& code) {
  const std::vector<bool> reached = reached_without_product(code);
  for (std::size_t i = 0; i < code.blocks.size(); ++i)
    if (reached[i] && stores_results(code.blocks[i])) return true;
  return false;
}

std::string format_of_results(const CodeSummary& code) {
  std::vector<bool> inside(code.section.instructions.size());  // a loop with products and without loops
  for (std::size_t k = 0; k < code.loops.size(); ++k) {
    CodeCounts pass = code.loops[k].always;
    pass += code.loops[k].sometimes;
    const bool holds_loops = std::any_of(code.loops.begin(), code.loops.end(),
                                         [&](const CodeLoop& other) { return other.parent == k && !other.waits; });
    if (pass.of(InstructionKind::matrix) == 0 || holds_loops) continue;
    for (const std::size_t block : code.loops[k].blocks)
      for (std::size_t i = code.blocks[block].begin; i < code.blocks[block].end; ++i) inside[i] = true;
  }
  std::set<std::string> formats;
  for (std::size_t i = 0; i < inside.size(); ++i)
    for (const char* format : {"BF16", "F16"})
      if (!inside[i] && code.section.instructions[i].opcode == "F2FP" && code.section.instructions[i].has(format))
        formats.insert(format);
  return formats.size() == 1 ? *formats.begin() : "";
}

bool rewrites_tiles(const CodeSummary& code) {
  return std::any_of(code.loops.begin(), code.loops.end(), [](const CodeLoop& loop) {
    CodeCounts pass = loop.always;
    pass += loop.sometimes;
    return pass.of(InstructionKind::matrix) == 0 && opcodes_of(pass, "LDSM") > 0 && opcodes_of(pass, "STSM") > 0;
  });
}

}  // namespace tilescope
