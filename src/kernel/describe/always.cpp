#include "kernel/describe/always.h"

#include <algorithm>

#include "kernel/code/flow/graph.h"

namespace tilescope {

std::vector<bool> always_around(const CodeSummary& code, std::size_t loop) {
  const std::size_t header =
      static_cast<std::size_t>(std::find_if(code.blocks.begin(), code.blocks.end(),
                                            [&](const CodeBlock& b) { return b.first == code.loops[loop].header; }) -
                               code.blocks.begin());
  Graph forward{.successors = {}, .roots = {0}}, backward;
  backward.successors.resize(code.blocks.size());
  for (std::size_t i = 0; i < code.blocks.size(); ++i) {
    forward.successors.push_back(code.blocks[i].successors);
    for (const std::size_t next : code.blocks[i].successors) backward.successors[next].push_back(i);
    if (code.blocks[i].reached && code.blocks[i].successors.empty()) backward.roots.push_back(i);
  }
  // One end joins all others, so that what every path to any end passes is found.
  const std::size_t end = backward.successors.size();
  backward.successors.push_back(backward.roots);
  backward.roots = {end};
  const Dominators before = dominators_of(forward), after = dominators_of(backward);
  std::vector<bool> always(code.blocks.size());
  for (std::size_t i = 0; i < code.blocks.size(); ++i) {
    const auto& own = code.loops[loop].blocks;
    const bool outside = std::find(own.begin(), own.end(), i) == own.end();
    always[i] = outside && code.blocks[i].reached && header < code.blocks.size() &&
                (before.dominates(i, header) || after.dominates(i, header));
  }
  return always;
}

}  // namespace tilescope
