// Tests only: random legal nests of random kernels of a diagram, including dominated ones.
#pragma once

#include <optional>

#include "base/contains.h"
#include "derive/kernel_problem.h"
#include "derive/random/random_points.h"

namespace tilescope {

inline Primitives primitives_of_diagram(const Diagram& diagram) { return expand(primitive_diagram(expand(diagram))); }

// A random nest: every axis is whole, grouped, streamed or, rarely, split into parts, and the streams are shuffled. The
// nest may be illegal.
inline AxisLoops random_loops(RandomPoints& random, const KernelRules& rules, bool parts = true) {
  AxisLoops groups, streams;
  for (const AxisId axis : rules.batch()) groups.push_back({axis, Partition::group});
  for (const auto& [axis, stream] : rules.axes()) {
    if (contains(rules.batch(), axis)) continue;
    const std::int64_t choice = random.between(0, 9);
    const bool split = std::any_of(groups.begin(), groups.end(), [](const AxisLoop& loop) { return loop.parts; });
    if (choice < 3) groups.push_back({axis, Partition::group});
    else if (choice < 6) streams.push_back({axis, Partition::stream});
    else if (parts && choice < 8 && rules.splits(axis) && !split) {
      groups.push_back({axis, Partition::group, true});
      if (choice == 7) streams.push_back({axis, Partition::stream});
    }
  }
  std::shuffle(streams.begin(), streams.end(), random.engine());
  groups.insert(groups.end(), streams.begin(), streams.end());
  return groups;
}

// A random legal nest; none if `tries` attempts found none.
inline std::optional<AxisLoops> random_nest(RandomPoints& random, const KernelRules& rules, bool parts = true,
                                            int tries = 50) {
  for (int i = 0; i < tries; ++i) {
    AxisLoops loops = random_loops(random, rules, parts);
    if (rules.why_not(loops).empty()) return loops;
  }
  return std::nullopt;
}

}  // namespace tilescope
