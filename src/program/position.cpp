#include "program/position.h"

#include <algorithm>
#include <tuple>

#include "cost/live_tiles.h"

namespace tilescope {

std::pair<std::int64_t, std::int64_t> LoopPosition::span(AxisId axis) const {
  std::int64_t first = 0, end = nest_.size(axis);
  const Chunked& cut = nest_.chunked;
  if (cut.present() && cut.of == axis && cut.outer < depth_) {
    first = at_[static_cast<std::size_t>(cut.outer)] * cut.length;
    end = std::min(end, first + cut.length);
  }
  for (int i = 0; i < depth_; ++i) {
    const BoundLoop& bound = nest_.loops[static_cast<std::size_t>(i)];
    if (bound.axis != axis) continue;
    first += at_[static_cast<std::size_t>(i)] * bound.tile;
    return {first, std::min(end, first + bound.tile)};
  }
  return {first, end};
}

Box LoopPosition::box(const std::vector<AxisId>& axes) const {
  Box found;
  for (const AxisId axis : axes) std::tie(found.first[index(axis)], found.end[index(axis)]) = span(axis);
  return found;
}

bool LoopPosition::within_chunk(int position) const {
  if (!nest_.chunked.present() || nest_.chunked.inner != position) return true;
  const auto [first, end] = span(nest_.chunked.of);
  return first < end;
}

bool LoopPosition::alive() const {
  if (!nest_.guarded()) return true;
  const GuardAxes guard = *nest_.diagram->guard;
  const auto [q0, q1] = span(guard.query);
  const auto [x0, x1] = span(guard.key);
  for (std::int64_t q = q0; q < q1; ++q)
    for (std::int64_t x = x0; x < x1; ++x)
      if (sees(*nest_.mask, nest_.size(guard.query), nest_.size(guard.key), q, x)) return true;
  return false;
}

}  // namespace tilescope
