// Where a run of a program stands in its loops.
#pragma once

#include <utility>
#include <vector>

#include "cost/nest.h"
#include "program/numeric.h"

namespace tilescope {

class LoopPosition {
 public:
  explicit LoopPosition(const Nest& nest) : nest_(nest), at_(nest.loop_count, 0) {}

  // Inside the loop at `position`, at its step `i`; behind it.
  void step(int position, std::int64_t i) { at_[static_cast<std::size_t>(position)] = i, depth_ = position + 1; }
  void leave(int position) { depth_ = position; }

  // First element and end of the present tile along an axis.
  std::pair<std::int64_t, std::int64_t> span(AxisId axis) const;
  Box box(const std::vector<AxisId>& axes) const;
  std::vector<std::int64_t> steps(int loops) const { return {at_.begin(), at_.begin() + loops}; }

  // The last chunk of a split may hold fewer tiles than the others.
  bool within_chunk(int position) const;
  // Whether the mask leaves any position to the loops so far.
  bool alive() const;

 private:
  const Nest& nest_;
  std::vector<std::int64_t> at_;
  int depth_ = 0;
};

}  // namespace tilescope
