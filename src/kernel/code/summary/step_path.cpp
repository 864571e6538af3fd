#include "kernel/code/summary/step_path.h"

#include <algorithm>
#include <functional>
#include <optional>

namespace tilescope {
namespace {

constexpr std::int64_t work_gain = 100'000, through_gain = 1'000'000'000;

// What a way gains by an instruction of its own kind; each instruction costs one.
using Gain = std::function<std::int64_t(const CodeBlock&)>;
using Blocks = std::vector<std::size_t>;

// The way from a block to another one, or to an end of the kernel, with the greatest gain. No block twice.
class BestWay {
 public:
  BestWay(const CodeSummary& code, Gain gain, std::vector<bool> inside, std::optional<std::size_t> goal)
      : code_(code),
        gain_(std::move(gain)),
        inside_(std::move(inside)),
        goal_(goal),
        best_(code.blocks.size()),
        open_(code.blocks.size()) {}

  // Without the goal. Empty: there is no way.
  Blocks from(std::size_t block) {
    Blocks way;
    if (!gain(block)) return way;
    for (;;) {
      way.push_back(block);
      if (!best_[block].next || best_[block].next == goal_) return way;
      block = *best_[block].next;
    }
  }

 private:
  struct Way {
    bool known = false;
    std::optional<std::int64_t> gain{};
    std::optional<std::size_t> next{};  // none: the kernel ends
  };

  std::optional<std::int64_t> gain(std::size_t block) {
    Way& way = best_[block];
    if (way.known) return way.gain;
    open_[block] = true;
    const bool ends = !goal_ && ends_kernel(code_.blocks[block]);
    if (ends) way.gain = 0;
    for (const std::size_t next : code_.blocks[block].successors) {
      std::optional<std::int64_t> rest;
      if (next == goal_) rest = 0;
      else if (inside_[next] && !open_[next]) rest = gain(next);
      if (rest && (!way.gain || *rest > *way.gain)) way.gain = rest, way.next = next;
    }
    open_[block] = false;
    if (way.gain) *way.gain += gain_(code_.blocks[block]) - code_.blocks[block].counts.instructions;
    way.known = true;
    return way.gain;
  }

  bool ends_kernel(const CodeBlock& block) const {
    return block.end > block.begin && code_.section.instructions[block.end - 1].opcode == "EXIT";
  }

  const CodeSummary& code_;
  const Gain gain_;
  const std::vector<bool> inside_;
  const std::optional<std::size_t> goal_;
  std::vector<Way> best_;
  std::vector<bool> open_;
};

std::vector<std::size_t> instructions_of(const CodeSummary& code, const Blocks& blocks) {
  std::vector<std::size_t> instructions;
  for (const std::size_t block : blocks)
    for (std::size_t i = code.blocks[block].begin; i < code.blocks[block].end; ++i) instructions.push_back(i);
  return instructions;
}

std::vector<bool> blocks_of(const CodeSummary& code, std::size_t loop) {
  std::vector<bool> inside(code.blocks.size());
  for (std::size_t block = 0; block < code.blocks.size(); ++block)
    for (auto at = code.blocks[block].loop; at; at = code.loops[*at].parent)
      if (*at == loop) inside[block] = true;
  return inside;
}

// Stores to global memory, and sums there.
std::int64_t stored(const CodeBlock& block) {
  std::int64_t sum = 0;
  for (const auto& [form, count] : block.counts.memory) {
    const bool stores = form.kind == InstructionKind::store && form.memory == CodeMemory::global,
               adds = form.kind == InstructionKind::atomic && form.memory != CodeMemory::shared;
    if (stores || adds) sum += count.instructions;
  }
  return sum;
}

std::size_t header_of(const CodeSummary& code, std::size_t loop) {
  std::size_t block = 0;
  while (code.blocks[block].first != code.loops[loop].header) ++block;
  return block;
}

}  // namespace

std::vector<std::size_t> step_path(const CodeSummary& code, std::size_t loop,
                                   const std::vector<std::uint64_t>& through) {
  const auto gain = [&](const CodeBlock& block) {
    std::int64_t sum = work_gain * (block.counts.of(InstructionKind::async_copy) + stored(block));
    // A pass waits for its tiles, but does not try again.
    if (block.loop == loop) sum += work_gain * block.counts.of(InstructionKind::mbarrier);
    for (const std::uint64_t address : through)
      if (address >= block.first && address <= block.last) sum += through_gain;
    return sum;
  };
  const std::size_t header = header_of(code, loop);
  return instructions_of(code, BestWay(code, gain, blocks_of(code, loop), header).from(header));
}

std::vector<std::size_t> start_path(const CodeSummary& code, std::size_t loop) {
  const auto gain = [](const CodeBlock& block) {
    return work_gain * (block.counts.of(InstructionKind::async_copy) + block.counts.of(InstructionKind::load));
  };
  const std::size_t header = header_of(code, loop);
  if (header == 0) return {};
  std::vector<bool> outside = blocks_of(code, loop);
  outside.flip();
  return instructions_of(code, BestWay(code, gain, std::move(outside), header).from(0));
}

std::vector<std::size_t> end_path(const CodeSummary& code, std::size_t loop) {
  const auto gain = [](const CodeBlock& block) {
    return work_gain * (block.counts.of(InstructionKind::store) + block.counts.of(InstructionKind::atomic));
  };
  const std::vector<bool> inside = blocks_of(code, loop);
  std::vector<bool> outside = inside;
  outside.flip();
  BestWay way(code, gain, std::move(outside), std::nullopt);
  std::vector<std::size_t> best;
  for (std::size_t block = 0; block < code.blocks.size(); ++block)
    for (const std::size_t next : code.blocks[block].successors)
      if (inside[block] && !inside[next] && best.empty()) best = instructions_of(code, way.from(next));
  return best;
}

}  // namespace tilescope
