#include "simulate/step_path.h"

#include <algorithm>
#include <map>
#include <optional>

namespace tilescope {
namespace {

constexpr std::int64_t copy_gain = 100'000, through_gain = 1'000'000'000;

class StepPath {
 public:
  StepPath(const CodeSummary& code, std::size_t loop, const std::vector<std::uint64_t>& through)
      : code_(code),
        through_(through),
        inside_(code.blocks.size()),
        best_(code.blocks.size()),
        open_(code.blocks.size()) {
    for (std::size_t block = 0; block < code.blocks.size(); ++block)
      for (auto at = code.blocks[block].loop; at; at = code.loops[*at].parent)
        if (*at == loop) inside_[block] = true;
    for (std::size_t block = 0; block < code.blocks.size(); ++block)
      if (inside_[block] && code.blocks[block].first == code.loops[loop].header) header_ = block;
  }

  std::vector<std::size_t> find() {
    std::vector<std::size_t> instructions;
    if (!gain(header_)) return instructions;
    for (std::size_t block = header_;;) {
      for (std::size_t i = code_.blocks[block].begin; i < code_.blocks[block].end; ++i) instructions.push_back(i);
      const std::size_t next = best_[block].next;
      if (next == header_) return instructions;
      block = next;
    }
  }

 private:
  struct Way {
    bool known = false;
    std::optional<std::int64_t> gain{};
    std::size_t next = 0;
  };

  std::int64_t own_gain(const CodeBlock& block) const {
    std::int64_t gain = copy_gain * block.counts.of(InstructionKind::async_copy) - block.counts.instructions;
    for (const std::uint64_t address : through_)
      if (address >= block.first && address <= block.last) gain += through_gain;
    return gain;
  }

  // Of the best way from the block back to the header; none where there is no way.
  std::optional<std::int64_t> gain(std::size_t block) {
    Way& way = best_[block];
    if (way.known) return way.gain;
    open_[block] = true;
    for (const std::size_t next : code_.blocks[block].successors) {
      std::optional<std::int64_t> rest;
      if (next == header_) rest = 0;
      else if (inside_[next] && !open_[next]) rest = gain(next);
      if (rest && (!way.gain || *rest > *way.gain)) way.gain = rest, way.next = next;
    }
    open_[block] = false;
    if (way.gain) *way.gain += own_gain(code_.blocks[block]);
    way.known = true;
    return way.gain;
  }

  const CodeSummary& code_;
  const std::vector<std::uint64_t>& through_;
  std::size_t header_ = 0;
  std::vector<bool> inside_;
  std::vector<Way> best_;
  std::vector<bool> open_;
};

}  // namespace

std::vector<std::size_t> step_path(const CodeSummary& code, std::size_t loop,
                                   const std::vector<std::uint64_t>& through) {
  return StepPath(code, loop, through).find();
}

}  // namespace tilescope
