// Groups of SMs in the order in which a launch fills them, from microbenchmarks; the value `levels.l2.groups` of a
// profile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hardware/profile.h"

namespace tilescope {

// Names of the curves in a record of `hardware measure` that these come from.
inline constexpr const char* launch_order_curve = "where the blocks of a launch go, one an SM";
inline constexpr const char* far_lines_curve = "l2 lines that SM 0 has loaded and that are far from an SM";

// unit_of_block: the SM of each block of a launch that starts one block on every SM, in the order of the blocks.
// far_part: by SM, the part of the lines loaded by SM 0 that have the latency of the other partition. A group is a run
// of rising SM numbers; a run that ends where the run before it begins (4 5 6 7 | 0 1 2 3) belongs to the same group.
// A run with SMs of both sides of the L2 is one group for each side: the boards of one GPU differ in this. An SM is on
// the other side than SM 0 if over a quarter of the lines are far from it. Empty: an SM appears twice or not at all.
std::vector<UnitGroup> groups_of_order(const std::vector<int>& unit_of_block, const std::vector<double>& far_part);

// "8a 16b": the number of SMs of each group and the letter of its partition.
std::string unit_groups_text(const std::vector<UnitGroup>& groups);

// The groups of such a text. Empty: it is none, a partition is not below `partitions`, or the groups have not `units`
// SMs together.
std::vector<UnitGroup> parse_unit_groups(const std::string& text, std::int64_t units, std::int64_t partitions);
inline constexpr const char* unit_groups_rule =
    "must be groups of units with their partition's letter, all units together, like '16a 16b' of 32";

// Whether both launches fill the same groups in the same cyclic order: the first group comes before all others, which
// follow each other from a start that moves from launch to launch.
bool same_cycle(const std::vector<UnitGroup>& a, const std::vector<UnitGroup>& b);

}  // namespace tilescope
