// The tile of a block that computes gradients, and how many streamed tiles lie in shared memory.
#pragma once

#include "kernel/describe/block_tile.h"

namespace tilescope {

// `units` run the loop; each owns other rows of what the block owns.
void backward_tile(const AttentionFacts& facts, const KernelLaunch& launch, std::int64_t units, BlockTile& tile,
                   std::vector<MissingValue>& missing);

// What a descriptor says of a launch that computes gradients.
Description describe_backward(const DescribeInput& input, const BlockTile& tile);

}  // namespace tilescope
