#include "predict/l2/read_together.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "predict/l2/walk/nest_steps.h"
#include "predict/l2/walk/random_order.h"
#include "predict/point/order/next_unit.h"

namespace tilescope {
namespace {

// Steps. Two blocks get a tile together if they ask for it less than a third of a step apart. Measured with blocks that
// begin anywhere in a stream, on an H100 and an H200 (validate/tools/sm_rules/tile_sharers.cu).
constexpr double together = 2.0 / 3;

// A block reads tiles [first, end) of a stream, a tile a step. `time`: in units of `together`, when it is at tile 0, or
// would be. Blocks of one stream and time read their common tiles together.
struct Reader {
  std::int64_t stream, time, first, end;
  auto key() const { return std::pair(stream, time); }
};

// The stream loop that moves the array, if no other one has steps and it is the innermost.
std::optional<std::size_t> only_stream(const BoundIsland& bound, ArrayId id) {
  const AxisBits axes = bits(bound.plan.schedule.diagram.array(id).axes);
  std::optional<std::size_t> found, innermost;
  for (std::size_t i = 0; i < bound.nest.loop_count; ++i) {
    const BoundLoop& loop = bound.nest.loops[i];
    if (loop.group) continue;
    innermost = i;
    if (loop.trips == 1) continue;
    if (found || !Nest::carries(axes, loop)) return std::nullopt;
    found = i;
  }
  return found == innermost ? found : std::nullopt;
}

std::int64_t stream_of(const BoundIsland& bound, AxisBits axes, const BlockPlace& place) {
  std::int64_t stream = 0;
  for (std::size_t i = 0; i < bound.nest.loop_count; ++i) {
    const BoundLoop& loop = bound.nest.loops[i];
    if (loop.group && Nest::carries(axes, loop)) stream = stream * loop.trips + place[i];
  }
  return stream;
}

// The first blocks in issue order, each at the place that is free first. Starts and ends of blocks take a part of a
// step, another one each time.
std::vector<Reader> readers(const BoundIsland& bound, ArrayId id, std::size_t loop, std::int64_t at_work) {
  constexpr std::int64_t most_blocks = 1 << 14;
  const AxisBits axes = bits(bound.plan.schedule.diagram.array(id).axes);
  const BlockOrder order(bound);
  const NestSteps steps(bound);
  const bool falls = BlockOrder::falls(bound, BlockOrder::dimension_of(bound, bound.nest.loops[loop]));
  NextUnit places(static_cast<std::size_t>(at_work));
  for (std::int64_t i = 0; i < at_work; ++i) places.set(i, 0);
  std::uint64_t random = 1;
  std::vector<Reader> all;
  for (std::int64_t i = 0; i < std::min(most_blocks, order.size()); ++i) {
    NestPlace place{.at = order.at(i)};
    if (!steps.first(place)) continue;
    const std::int64_t first = place.at[loop], count = steps.left(place);
    const double time = places.time(), part = std::ldexp(static_cast<double>(next_random(random)), -31);
    const auto at_first = static_cast<double>(falls ? first : -first);
    all.push_back({stream_of(bound, axes, place.at),
                   static_cast<std::int64_t>(std::floor((time + at_first) / together)),
                   falls ? first - count + 1 : first, falls ? first + 1 : first + count});
    places.set(places.unit(), time + static_cast<double>(count) + part);
  }
  return all;
}

}  // namespace

std::optional<double> part_that_leaves(const BoundIsland& bound, ArrayId id, std::int64_t at_work, std::size_t groups) {
  const std::optional<std::size_t> loop = only_stream(bound, id);
  if (!loop || at_work < 1 || groups == 0) return std::nullopt;
  std::vector<Reader> all = readers(bound, id, *loop, at_work);
  std::sort(all.begin(), all.end(), [](const Reader& a, const Reader& b) { return a.key() < b.key(); });
  const auto count = static_cast<double>(groups);
  double read = 0, leave = 0;
  std::vector<std::pair<std::int64_t, int>> changes;  // at a tile, of the number of readers
  for (std::size_t i = 0; i < all.size();) {
    changes.clear();
    for (const auto key = all[i].key(); i < all.size() && all[i].key() == key; ++i)
      changes.emplace_back(all[i].first, 1), changes.emplace_back(all[i].end, -1);
    std::sort(changes.begin(), changes.end());
    int readers = 0;
    for (std::size_t c = 0; c + 1 < changes.size(); ++c) {
      readers += changes[c].second;
      const auto tiles = static_cast<double>(changes[c + 1].first - changes[c].first);
      read += tiles * readers, leave += tiles * count * (1 - std::pow(1 - 1 / count, readers));
    }
  }
  return read > 0 ? std::optional(leave / read) : std::nullopt;
}

}  // namespace tilescope
