// The order of a forward launch's blocks, and what its grid says of parts of the keys and of rows of several heads.
#pragma once

#include "kernel/describe/block_tile.h"

namespace tilescope {

// Which of the grid and the sizes of a launch are not known.
std::string unknown_of_launch(const DescribeInput& input);

void describe_order(const DescribeInput& input, const BlockTile& tile, Description& out);

}  // namespace tilescope
