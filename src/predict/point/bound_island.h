// One island (a kernel launch) bound to a point: its loops, tiles and masks, and the sums over them.
#pragma once

#include <memory>
#include <memory_resource>
#include <vector>

#include "base/checked.h"
#include "cost/transfer.h"
#include "hardware/profile.h"
#include "predict/point/island_facts.h"
#include "predict/point/point.h"

namespace tilescope {

// Where the products of a launch accumulate (point/tensor_memory.h).
struct TensorMemory {
  bool used = false;         // in tensor memory; else in registers
  std::uint64_t turned = 0;  // by position in Diagram::operators: products whose rows are those of their second input
};

// Values of a result that leave the block and come back, and how many distinct ones leave.
struct Visits {
  std::int64_t visits, distinct;
};

struct KnownBlock;  // point/block_memory.h
using BlockMemory = std::vector<KnownBlock>;

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
  // Streams that the array awaits: it is touched only in their last step (Plan::times). A bit a loop.
  std::uint32_t awaited(ArrayId id) const;
  // The nest as the array sees it: streams that it awaits are one step.
  Nest seen_by(ArrayId id, const Nest& of) const;
  bool computed_again(ArrayId id) const;  // results that blocks or steps compute anew
  // Clipped and whole-tile sums, those of products that sum over keys, and those of scores; only used when the nest is
  // guarded.
  NestSums live, whole, summed, scored;
  TensorMemory tensor_memory = {};
  // What launches with such blocks have in common: of a sweep, where later points find it, or its own.
  KnownBlock* known = nullptr;
  std::shared_ptr<KnownBlock> own = nullptr;
  const IslandFacts* facts = nullptr;  // in `known`
  struct KnownVisits {                 // of visits_of(), which is asked again and again
    KnownVisits() {}
    std::uint64_t known = 0;            // a bit an ArrayId
    std::array<Visits, max_arrays> of;  // those
  };
  mutable KnownVisits visits = KnownVisits();
};

// The nest with these loops, a bit each, in one step of their whole axis.
Nest in_one_step(Nest nest, std::uint32_t loops);

// Loops whose streams the array awaits, however many steps they have. A bit a loop.
std::uint32_t awaited_by_plan(const BoundIsland& bound, ArrayId id);

// All islands of the plan, in their order; the list lies in `memory`.
std::pmr::vector<BoundIsland> bind_islands(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                                           std::pmr::memory_resource* memory = std::pmr::get_default_resource(),
                                           BlockMemory* blocks = nullptr);

BoundIsland bind_island(const Plan& plan, const HardwareProfile& hardware, const Point& point, int number);

// The same in two steps: loops, tiles and facts, which a footprint needs, and then the sums over live tiles.
BoundIsland bind_loops(const Plan& plan, const HardwareProfile& hardware, const Point& point, int number,
                       BlockMemory* blocks = nullptr);
void bind_sums(BoundIsland& bound);

// Arrays that cross the outer boundary here, less statistics the kernel does not store.
bool loads_by_plan(const BoundIsland& bound, ArrayId id);
bool stores_by_plan(const BoundIsland& bound, ArrayId id);
inline bool loads(const BoundIsland& bound, ArrayId id) {
  return bound.facts->known ? IslandFacts::has(bound.facts->loads, id) : loads_by_plan(bound, id);
}
inline bool stores(const BoundIsland& bound, ArrayId id) {
  return bound.facts->known ? IslandFacts::has(bound.facts->stores, id) : stores_by_plan(bound, id);
}
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

// Values and bytes of one tile of an array, uncut.
std::int64_t tile_values(const BoundIsland& bound, ArrayId id);
std::int64_t tile_bytes(const BoundIsland& bound, ArrayId id);
std::int64_t touched_bytes(const BoundIsland& bound, ArrayId id, TouchOptions options);
// Sums over the tiles that a product computes: whole tiles, but for the end of a sum over keys and of scores.
const NestSums& sums_of_product(const BoundIsland& bound, int op);

// Whole tiles on request.
Visits visits_of(const BoundIsland& bound, ArrayId id, bool whole_tiles = false);
inline void note_visits(const BoundIsland& bound, ArrayId id, Visits found) {  // those of partial tiles
  bound.visits.of[index(id)] = found, bound.visits.known |= std::uint64_t{1} << index(id);
}
StoreCounts counts_of_store(const BoundIsland& bound, ArrayId id);  // zeros: those that no other island writes
bool zeroed_by_another(const BoundIsland& bound, ArrayId id);  // an island whose implementation lists it in `zeroes`

// Array with the island's score tile (both guarded axes), and its main output; -1: none.
int score_array(const BoundIsland& bound);
int output_array(const BoundIsland& bound);

}  // namespace tilescope
