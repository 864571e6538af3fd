// Internal to predict: one island bound to a point, and the steps that fill its part of a prediction.
#pragma once

#include "base/checked.h"
#include "cost/transfer.h"
#include "predict/prediction.h"

namespace tilescope {

struct BoundIsland {
  const Plan& plan;
  const Point& point;
  const HardwareProfile& hardware;
  int number;
  const Island& island;
  const IslandImplementation& how;
  const KernelVariant* variant;
  Nest nest;
  Nest finish;  // of what a block does once, at its end: every block's, also one without a live tile, where the kernel
                // says so
  bool streams(ArrayId id) const;  // a stream moves the array's tile
  // The nest that an array leaves the block by: that of its end, but for what leaves in the steps of a stream.
  const Nest& leaving(ArrayId id) const;
  // Clipped and whole-tile sums, those of products that sum over keys, and those of scores; only used when the nest is
  // guarded.
  NestSums live, whole, summed, scored;
};

BoundIsland bind_island(const Plan& plan, const HardwareProfile& hardware, const Point& point, int number);

// Arrays that cross the outer boundary here, less statistics the kernel does not store.
bool loads(const BoundIsland& bound, ArrayId id);
bool stores(const BoundIsland& bound, ArrayId id);
bool fetched_every_step(const BoundIsland& bound, ArrayId id);  // also where its tile has not changed
bool copied_in_bulk(const BoundIsland& bound, ArrayId id);      // by the copy engine (TMA), if it goes to shared memory

// Threads that work on a row together, and steps of the island's streams.
std::int64_t row_lanes(const BoundIsland& bound);
std::int64_t warps_of_block(const BoundIsland& bound);

// Thread blocks that the kernel launches: the nest's, or as many as have a thread for each row's share of the output.
std::int64_t lanes_of_warp(const BoundIsland& bound);  // 32 where the profile does not say
std::int64_t grid_blocks(const BoundIsland& bound);
std::int64_t steps_of(const Nest& nest);

// The number for the size that the axis has here; `otherwise`: it goes by none.
std::int64_t number_for(const BoundIsland& bound, const BySize& by, std::int64_t otherwise);
inline std::int64_t number_for(const BoundIsland& bound, const Times& times) {
  return number_for(bound, times.by, times.always);
}

// Bytes of one tile of an array, uncut.
std::int64_t tile_bytes(const BoundIsland& bound, ArrayId id);
std::int64_t touched_bytes(const BoundIsland& bound, ArrayId id, TouchOptions options);
// Sums over the tiles that a product computes: whole tiles, but for the end of a sum over keys and of scores.
const NestSums& sums_of_product(const BoundIsland& bound, int op);

// Values of a result that leave the block and come back, and how many distinct ones leave; whole tiles on request.
struct Visits {
  std::int64_t visits = 0, distinct = 0;
};
// Bytes that enter the units in whole sectors for values that every lane of a row reads for itself; 0: not read so.
std::int64_t sector_read_bytes(const BoundIsland& bound, ArrayId id);

Visits visits_of(const BoundIsland& bound, ArrayId id, bool whole_tiles = false);
StoreCounts counts_of_store(const BoundIsland& bound, ArrayId id);  // zeros: those that no other island writes
bool zeroed_by_another(const BoundIsland& bound, ArrayId id);  // an island whose implementation lists it in `zeroes`

// Array with the island's score tile (both guarded axes), and its main output; -1: none.
int score_array(const BoundIsland& bound);
int output_array(const BoundIsland& bound);

// What a block keeps at a level. Held without heap memory, as every point of a sweep asks.
struct Allocation {
  ArrayId array;
  bool accumulator;     // fp32, in registers
  std::int64_t copies;  // stages
  std::int64_t tile_bytes;
  std::int64_t bytes() const { return checked_mul(tile_bytes, copies); }
};
struct Allocations {
  std::array<Allocation, max_arrays> list;  // the first `count`; more than there are arrays are only summed
  std::size_t count = 0;
  std::int64_t bytes = 0, largest_bytes = 0;
  int largest = -1;  // ArrayId, -1: nothing
  void add(const Allocation& allocation);
};
// smem: the streamed and resident inputs, or the output that is staged in their place; register: accumulators and
// operands that the variant keeps.
Allocations allocations(const BoundIsland& bound, Boundary level);

void add_footprint(const BoundIsland& bound, Prediction& out);
std::int64_t resident_blocks_per_unit(const BoundIsland& bound, const Prediction& out);
void add_term(const BoundIsland& bound, Prediction& out, Term term);           // none of zero bytes
std::int64_t mask_bytes(const IslandImplementation& how, const Point& point);  // of a block mask that the kernel reads
void add_local(const BoundIsland& bound, Prediction& out);                     // spilled registers
void add_smem(const BoundIsland& bound, Prediction& out);
void add_traffic(const BoundIsland& bound, Prediction& out);
void add_work(const BoundIsland& bound, Prediction& out);
void add_register_traffic(const BoundIsland& bound, Prediction& out);
void add_time(const BoundIsland& bound, Prediction& out);  // of each resource, and of the blocks on their units
void finish_time(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                 Prediction& out);  // all islands: clock, launches, sensitivities

}  // namespace tilescope
