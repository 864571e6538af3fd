// Mbarriers at which warps of one role arrive, and for which those of another wait.
#pragma once

#include <vector>

#include "simulate/sm/state.h"

namespace tilescope::sm_state {

// Each stage has its own: a warp's pass uses the one after that of the pass before. Without the other role nobody
// waits.
class Phases {
 public:
  Phases(const SmBeside& beside, int blocks)
      : arrivals_(beside.arrivals),
        stages_(beside.stages),
        all_(arrivals_.size() * static_cast<std::size_t>(blocks * stages_)) {}

  bool empty() const { return all_.empty(); }

  // Whether the warp's pass may go on; else the warp waits. Those who fill find all stages empty at first.
  bool over(const SmOperation& op, const Warp& warp) {
    if (empty()) return true;
    Phase& phase = at(op.number, warp);
    const std::int64_t needed = warp.passes / stages_ + !warp.beside;
    if (phase.arrived >= needed * arrivals_[static_cast<std::size_t>(op.number)]) return true;
    phase.waiting.push_back(warp.index);
    return false;
  }

  // Calls released(index of a warp) for each that waits, where the arrival is the last one of a phase.
  template <class Released>
  void arrive(const SmOperation& op, const Warp& warp, const Released& released) {
    if (empty()) return;
    Phase& phase = at(op.number, warp);
    if (++phase.arrived % arrivals_[static_cast<std::size_t>(op.number)] != 0) return;
    for (const int index : phase.waiting) released(index);
    phase.waiting.clear();
  }

  // All that the future depends on. `pass`: of the first warp, from which all are counted.
  template <class Hash>
  void add_to(Hash& hash, std::int64_t pass) const {
    for (std::size_t i = 0; i < all_.size(); i += static_cast<std::size_t>(stages_))
      for (std::int64_t next = pass; next < pass + stages_; ++next)
        hash.add(all_[i + static_cast<std::size_t>(next % stages_)].arrived -
                 next / stages_ * arrivals_[i / static_cast<std::size_t>(stages_) % arrivals_.size()]);
  }

 private:
  struct Phase {
    std::int64_t arrived = 0;
    std::vector<int> waiting{};
  };

  Phase& at(int number, const Warp& warp) {
    const std::int64_t mbarrier = warp.block * std::ssize(arrivals_) + number;
    return all_[static_cast<std::size_t>(mbarrier * stages_ + warp.passes % stages_)];
  }

  std::vector<int> arrivals_;
  int stages_;
  std::vector<Phase> all_;  // by block, number of the mbarrier, stage
};

}  // namespace tilescope::sm_state
