// A power law on a hierarchy of memories: levels are optimised independently and their costs added
//   H* = sum_l cost_l * H*(M_l)                                       (Napkin, arXiv 2412.03317, section 5.1)
// with two further kinds of level: a cache above children that keep their outputs, and children that exchange data with
// each other.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "optimum/power_law.h"

namespace tilescope {

// Costs are per value (or byte, as the law is) that enters the level: seconds, joules, or any weighted sum of them.
struct Level {
  std::string name;
  double memory = std::numeric_limits<double>::infinity();
  double cost = 0;  // Hdot^-1; cost of a value that enters; 0 for the outermost memory
};

double weighted_cost(const PowerLaw& law, std::span<const Level> levels);

// Hdot * M^beta: figure of merit of a level for a term of that exponent. The ratio of two levels' figures is the ratio
// of their costs for that term, so machines are compared term by term. The level's cost must not be zero.
double figure_of_merit(const Level& level, double beta);

// Napkin's theorem 2 (section 4.4): if outputs stay in the children until complete, a cache above `children` of them
// behaves like a memory of the sum of their sizes: H*(children * child_memory).
double intermediate_memory(double child_memory, double children);

// Its condition: there are at least as many children as groups of the inner level in one group of the outer.
bool intermediate_applies(std::int64_t children, std::int64_t inner_groups, std::int64_t outer_groups);

// One head of attention, its queries grouped by `group_rows` over blocks that stream the keys.
struct StreamedHead {
  std::int64_t q_len = 0, kv_len = 0;
  std::int64_t qo_width = 0;  // values a query row loads and stores: d_qk + d_v
  std::int64_t kv_width = 0;  // values a key loads: d_qk + d_v
  std::int64_t group_rows = 0;
};

// Values that cross into an LRU cache of `cache_values` above `blocks` blocks in lock step, which read each tile of
// keys at the same time: q * qo_width + kv * kv_width * (waves of blocks), or one pass when the keys and values survive
// a wave. They survive if they fit together with the wave's own query and output rows. A cache smaller than the keys
// and values keeps none of them (cyclic LRU). In between some survive, and the result is an upper bound. Throws
// CountOverflow.
std::int64_t cached_head_values(const StreamedHead& head, std::int64_t blocks, std::int64_t cache_values);

// Theorem 3 (section 4.5, A.2.2): `children` of one family, of `child_memory` each, load every value once from the
// parent at parent_cost and exchange it among themselves at cross_cost.
struct ChildFamily {
  double child_memory = 0;
  double children = 1;
  double parent_cost = 0, cross_cost = 0;
};
double cross_transfer_cost(const PowerLaw& law, const ChildFamily& family);

// The cost saved by the exchange compared with every child loading from the parent; 0 for one child.
double cross_transfer_saving(const PowerLaw& law, const ChildFamily& family);

}  // namespace tilescope
