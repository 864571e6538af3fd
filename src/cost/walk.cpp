#include "cost/walk.h"

#include <algorithm>
#include <set>

namespace tilescope {
namespace {

using Position = std::vector<std::int64_t>;

class Walker {
 public:
  Walker(const Schedule& schedule, const Island& island, const Nest& nest)
      : schedule_(schedule), island_(island), nest_(nest), at_(nest.loop_count, 0) {
    walk_.arrays.resize(schedule.diagram.arrays.size());
    walk_.points.resize(schedule.diagram.operators.size(), 0);
    walk_.points_whole.resize(schedule.diagram.operators.size(), 0);
    walk_.computed.resize(schedule.diagram.operators.size());
    resident_.resize(walk_.arrays.size() + walk_.computed.size());
    entered_.resize(resident_.size());
  }

  Walk run() {
    enter(0);
    return walk_;
  }

 private:
  void enter(std::size_t depth) {
    if (depth == nest_.loop_count) {
      if (within_chunk() && alive()) step();
      return;
    }
    for (std::int64_t i = 0; i < nest_.loops[depth].trips; ++i) {
      at_[depth] = i;
      if (nest_.loops[depth].group) std::fill(resident_.begin(), resident_.end(), Position{});  // another block
      enter(depth + 1);
    }
  }

  // First element and count of the current tile along an axis.
  std::pair<std::int64_t, std::int64_t> span(AxisId axis, bool whole) const {
    for (std::size_t i = 0; i < nest_.loop_count; ++i) {
      const BoundLoop& loop = nest_.loops[i];
      if (loop.axis != axis) continue;
      const bool in_chunk = nest_.chunked.present() && static_cast<int>(i) == nest_.chunked.inner;
      const std::int64_t base =
          in_chunk ? at_[static_cast<std::size_t>(nest_.chunked.outer)] * nest_.chunked.length : 0;
      const std::int64_t first = base + at_[i] * loop.tile;
      const std::int64_t end = in_chunk ? std::min(loop.size, base + nest_.chunked.length) : loop.size;
      return {first, whole ? loop.tile : std::min(loop.tile, end - first)};
    }
    return {0, nest_.size(axis)};
  }

  // The last chunk of a split may hold fewer tiles than the others.
  bool within_chunk() const { return !nest_.chunked.present() || span(nest_.chunked.of, false).second > 0; }

  bool alive() const {
    if (!nest_.guarded()) return true;
    const auto [q0, rows] = span(nest_.diagram->guard->query, false);
    const auto [x0, keys] = span(nest_.diagram->guard->key, false);
    const std::int64_t q_len = nest_.size(nest_.diagram->guard->query), kv_len = nest_.size(nest_.diagram->guard->key);
    for (std::int64_t q = q0; q < q0 + rows; ++q)
      for (std::int64_t x = x0; x < x0 + keys; ++x)
        if (sees(*nest_.mask, q_len, kv_len, q, x)) return true;
    return false;
  }

  std::int64_t volume(const std::vector<AxisId>& axes, bool whole) const {
    std::int64_t product = 1;
    for (const AxisId axis : axes) product *= span(axis, whole).second;
    return product;
  }

  void step() {
    ++walk_.steps;
    for (std::size_t id = 0; id < walk_.arrays.size(); ++id)
      touch(id, schedule_.diagram.arrays[id].axes, walk_.arrays[id]);
    for (const int op : island_.operators) {
      const std::vector<AxisId> axes =
          schedule_.diagram.axes_of(schedule_.diagram.operators[static_cast<std::size_t>(op)]);
      walk_.points[static_cast<std::size_t>(op)] += volume(axes, false);
      walk_.points_whole[static_cast<std::size_t>(op)] += volume(axes, true);
      touch(walk_.arrays.size() + static_cast<std::size_t>(op), axes, walk_.computed[static_cast<std::size_t>(op)]);
    }
  }

  void touch(std::size_t id, const std::vector<AxisId>& axes, ArrayWalk& count) {
    Position tile;
    for (const AxisId axis : axes) tile.push_back(span(axis, false).first);
    const std::int64_t values = volume(axes, false);
    count.loaded_each_step += values;
    if (!resident_[id].empty() && resident_[id] == tile) return;
    resident_[id] = tile;
    count.loaded += values;
    count.loaded_whole += volume(axes, true);
    count.stored += values;  // the tile is written when it is left, as often as it is entered
    if (!entered_[id].insert(tile).second) count.loaded_back += values;
  }

  const Schedule& schedule_;
  const Island& island_;
  const Nest& nest_;
  Position at_;
  std::vector<Position> resident_;
  std::vector<std::set<Position>> entered_;
  Walk walk_;
};

}  // namespace

Walk walk(const Schedule& schedule, const Island& island, const Nest& nest) {
  return Walker(schedule, island, nest).run();
}

}  // namespace tilescope
