// What a thread block keeps in shared memory and registers, and how many blocks a multiprocessor holds.
#pragma once

#include <algorithm>

#include "predict/point/bound_island.h"

namespace tilescope {

// What a block keeps at a level. Held without heap memory, as every point of a sweep asks.
struct Allocation {
  ArrayId array;
  bool accumulator;     // fp32, in registers
  std::int64_t copies;  // stages
  std::int64_t tile_bytes;
  std::int64_t bytes() const { return checked_mul(tile_bytes, copies); }
};
struct Allocations {
  Allocations() = default;
  Allocations(const Allocations& other) { *this = other; }
  Allocations& operator=(const Allocations& other) {  // of the list what is there
    count = other.count, bytes = other.bytes, largest_bytes = other.largest_bytes, largest = other.largest;
    std::copy_n(other.list.begin(), count, list.begin());
    return *this;
  }
  ~Allocations() = default;

  std::array<Allocation, max_arrays> list;  // the first `count`; more than there are arrays are only summed
  std::size_t count = 0;
  std::int64_t bytes = 0, largest_bytes = 0;
  int largest = -1;  // ArrayId, -1: nothing
  void add(const Allocation& allocation);
};
// Shared memory: the streamed and resident inputs, or the output that is staged in their place. Registers: accumulators
// and operands that the variant keeps, at the operator where they are most.
Allocations smem_of_block(const BoundIsland& bound);
Allocations registers_of_block(const BoundIsland& bound);
// Accumulators in tensor memory, at the operator where they are most; nothing where they are in registers.
Allocations tensor_memory_of_block(const BoundIsland& bound);

// Both, beside what the GPU offers a block. Empty where the kernel multiplies without matrix instructions: where such a
// kernel keeps its tiles is not modelled.
struct Footprint {
  bool modelled = false;
  Allocations smem, registers, tmem;
  double smem_capacity = 0, register_capacity = 0,
         tmem_capacity = 0;  // bytes a block may take; 0: the profile does not say
};
const Footprint& footprint_of(const BoundIsland& bound);  // lies in bound.known

// Blocks of a launch: in its grid, and how many of them a multiprocessor holds at once.
struct Occupancy {
  std::int64_t blocks = 0;
  std::int64_t blocks_per_unit = 0;
};
Occupancy occupancy_of(const BoundIsland& bound);

}  // namespace tilescope
