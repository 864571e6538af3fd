// Tensor memory: where the accumulators of an ideal kernel lie on GPUs whose matrix instructions write no registers.
#pragma once

#include "predict/point/bound_island.h"

namespace tilescope {

// Rows of one accumulator: PTX ISA, tcgen05.mma: M is 64 or 128 lanes, N up to 256 columns in steps of 16.
inline constexpr std::int64_t fewest_lanes = 64, all_lanes = 128, columns_step = 16, most_columns = 256;

// Where the products of a bound launch accumulate. An assumed implementation uses tensor memory if the GPU has one and
// each of its products fills the rows and columns of an instruction; else fragments and accumulators are in registers.
TensorMemory tensor_memory_of(const BoundIsland& bound);

// The axes of `one` that `other` lacks: the rows of a product's result, if `one` is operand A.
std::vector<AxisId> free_axes(const Array& one, const Array& other);
// Of one step: elements along them.
std::int64_t side_extent(const BoundIsland& bound, const Array& one, const Array& other);

// Whether the product's rows are those of its second input.
bool turned(const BoundIsland& bound, int op);

// Operand A of a product, made in the launch, whose rows lie along the lanes: the instruction takes it from tensor
// memory. Any other operand comes from shared memory.
bool operand_in_tensor_memory(const BoundIsland& bound, int op, ArrayId id);

// Whether the accumulator of `op` is needed while `now` runs.
bool accumulator_lives(const BoundIsland& bound, int op, int now);

}  // namespace tilescope
