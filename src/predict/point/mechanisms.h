// The mechanisms of the time model by name. `validate --without NAME` takes one out and shows what it is worth.
#pragma once

#include <string_view>

#include "base/enum_table.h"
#include "predict/point/bound_island.h"

namespace tilescope {

enum class Mechanism : std::uint8_t {
  // counts
  bank_waits,
  leaving_bytes,
  // waits of a step
  chain_waits,
  load_waits,
  // blocks
  oldest_first,
  first_together,
  block_ends,
  around_products,
  first_places,
  // memory
  shared_reads,
  ramp,
  first_tiles,
  busy_share,
  behind_stores,
  stays_in_l2,
  memory_wait,
  // launches and clock
  launch_gaps,
  power,
};

struct MechanismRow {
  Mechanism value;
  std::string_view name, meaning;
};
template <>
struct EnumTable<Mechanism> {
  using M = Mechanism;
  static constexpr std::array rows{
      MechanismRow{M::bank_waits, "bank-waits", "products of threads wait for register banks"},
      MechanismRow{M::leaving_bytes, "leaving-bytes",
                   "what threads store, add to memory and spill leaves the SM one after the other"},
      MechanismRow{M::chain_waits, "chain-waits",
                   "operations of a step wait for the results before them, and warps for barriers"},
      MechanismRow{M::load_waits, "load-waits", "threads wait for what they load themselves"},
      MechanismRow{M::oldest_first, "oldest-first", "blocks of an SM do not share it evenly"},
      MechanismRow{M::first_together, "first-together", "the warps of a block go through the first step together"},
      MechanismRow{M::block_ends, "block-ends",
                   "a block's own instructions, loads and first copy before its steps, its instructions after them"},
      MechanismRow{M::around_products, "around-products",
                   "what blocks load beside their streams comes at the rate of memory"},
      MechanismRow{M::first_places, "first-places", "the order of SMs in which the first blocks start"},
      MechanismRow{M::shared_reads, "shared-reads", "tiles that SMs of a group ask for together leave the L2 once"},
      MechanismRow{M::ramp, "ramp", "memory needs a while until it delivers at its rate"},
      MechanismRow{M::first_tiles, "first-tiles", "SMs wait for the first tiles of a launch"},
      MechanismRow{M::busy_share, "busy-share", "memory does not serve all SMs alike"},
      MechanismRow{M::behind_stores, "behind-stores", "loads wait while memory is busy with stores"},
      MechanismRow{M::stays_in_l2, "stays-in-l2", "what stays in the L2 from run to run"},
      MechanismRow{M::memory_wait, "memory-wait", "blocks and memory wait for each other"},
      MechanismRow{M::launch_gaps, "launch-gaps", "time between launches"},
      MechanismRow{M::power, "power", "the clock falls to the power limit"}};
};

inline bool at_work(const Point& point, Mechanism mechanism) {
  return (point.time.without >> static_cast<unsigned>(mechanism) & 1) == 0;
}
inline bool at_work(const BoundIsland& bound, Mechanism mechanism) { return at_work(bound.point, mechanism); }
inline TimeChoices without(Mechanism mechanism) {
  return {.without = std::uint64_t{1} << static_cast<unsigned>(mechanism)};
}

}  // namespace tilescope
