// Barriers of the blocks of a simulated SM, by number and by the turns that warpgroups take.
#pragma once

#include <algorithm>
#include <vector>

#include "simulate/sm/state.h"

namespace tilescope::sm_state {

class Barriers {
 public:
  Barriers(const SmCode& code, int blocks, int warps_a_block)
      : warps_a_block_(warps_a_block), all_(static_cast<std::size_t>(blocks * block_barriers)) {
    for (Barrier& barrier : all_) barrier.waiting.reserve(static_cast<std::size_t>(warps_a_block));
    for (const SmOperation& op : code.operations)  // the first warpgroup of each block has the first turn
      if (op.number == SmOperation::turn && op.effect == SmEffect::barrier_sync)
        for (std::size_t first = first_turn; first < all_.size(); first += block_barriers)
          all_[first].arrived = op.count - group_warps;
  }

  // Calls released(index of a warp) for each that waits, where the arrival is the last one: itself among them.
  template <class Released>
  void arrive(const SmOperation& op, const Warp& warp, const Released& released) {
    Barrier& barrier = all_[static_cast<std::size_t>(warp.block * block_barriers + number_of(op, warp))];
    ++barrier.arrived;
    if (op.effect == SmEffect::barrier_sync) barrier.waiting.push_back(warp.index);
    if (barrier.arrived < op.count) return;
    for (const int waiting : barrier.waiting) released(waiting);
    barrier.arrived = 0, barrier.waiting.clear();
  }

  template <class Hash>
  void add_to(Hash& hash) const {
    for (const Barrier& barrier : all_) hash.add(barrier.arrived);
  }

 private:
  struct Barrier {
    int arrived = 0;
    std::vector<int> waiting{};
  };

  // A warpgroup waits for its own turn, and gives the turn to the next one.
  int number_of(const SmOperation& op, const Warp& warp) const {
    if (op.number != SmOperation::turn) return op.number;
    const int group = warp.index % warps_a_block_ / group_warps, groups = std::max(1, warps_a_block_ / group_warps);
    return first_turn + (op.effect == SmEffect::barrier_sync ? group : (group + 1) % groups);
  }

  int warps_a_block_;
  std::vector<Barrier> all_;
};

}  // namespace tilescope::sm_state
