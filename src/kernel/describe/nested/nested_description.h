// What a description says of a loop whose products stand in loops inside of it, or of which other warps compute parts.
#pragma once

#include "kernel/describe/block_tile.h"
#include "kernel/describe/described_part.h"

namespace tilescope {

// With the head dimensions of the launch, where the code leaves them to it.
DescribeInput with_launched_dims(DescribeInput input, std::vector<MissingValue>& missing);

// Adds what the loops inside of a step that sum over its keys do.
void add_value_passes(const BlockTile& tile, AttentionFacts& facts);

void describe_nested_products(const AttentionFacts& facts, DescribedPart& part);

}  // namespace tilescope
