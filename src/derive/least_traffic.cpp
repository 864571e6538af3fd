#include "derive/least_traffic.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "base/contains.h"
#include "cost/live_tiles.h"

namespace tilescope {
namespace {

AxisBits bit_of(std::size_t axis) { return AxisBits{1} << axis; }

// The least total where the tiles of two axes multiply to at most `room`: between steps of the first tile, the total
// is at least that with the larger first tile and the larger second one.
template <class Total>
double least_of_pair(AxisBits axes, double room, std::array<double, max_axes>& tiles, const Total& total) {
  double& first = tiles[static_cast<std::size_t>(std::countr_zero(axes))];
  double& second = tiles[static_cast<std::size_t>(std::countr_zero(axes & (axes - 1)))];
  const double most_first = first, most_second = second;
  double least = std::numeric_limits<double>::infinity();
  constexpr double step = 1.25;
  for (double low = 1; low <= most_first; low *= step) {
    first = std::min(most_first, low * step), second = std::min(most_second, room / low);
    least = std::min(least, total());
  }
  first = most_first, second = most_second;
  return least;
}

}  // namespace

double volume(const Diagram& diagram, const DeriveRequest& request, ArrayId id) {
  const Array& array = diagram.array(id);
  double values = 1;
  bool rows = false, keys = false;
  for (const AxisId axis : array.axes) {
    const bool row = diagram.guard && axis == diagram.guard->query, key = diagram.guard && axis == diagram.guard->key;
    rows = rows || row, keys = keys || key;
    if (!request.mask.masks() || !(row || key))
      values *= static_cast<double>(diagram.axes[index(axis)].size_in(request.workload));
  }
  if (!request.mask.masks() || !diagram.guard) return values;
  const Workload lengths = guarded_lengths(diagram, request.workload);
  const LiveSums seen = visible_pairs(request.mask, lengths.q_len, lengths.kv_len);
  if (!rows && !keys) return seen.area > 0 ? values : 0;  // a pattern without a visible pair needs nothing
  return values * static_cast<double>(rows && keys ? seen.area : rows ? seen.rows : seen.keys);
}

double width(const DeriveRequest& request, const Array& array) {
  if (request.widths.empty()) return 1;
  for (const std::string& key : {array.name, array.dtype_key})
    if (const auto found = request.widths.find(key); found != request.widths.end()) return found->second.to_double();
  return 1;
}

LeastTraffic::LeastTraffic(const Primitives& primitives, const FusedKernel& kernel, const DeriveRequest& request)
    : memory_(request.memory) {
  const Diagram& diagram = primitives.diagram;
  for (const Axis& axis : diagram.axes) sizes_.push_back(static_cast<double>(axis.size_in(request.workload)));
  for (const AxisId axis : batch_axes(primitives, kernel)) batch_ |= bit_of(index(axis));
  if (request.mask.masks() && diagram.guard)
    skipped_ = bit_of(index(diagram.guard->query)) | bit_of(index(diagram.guard->key));
  const auto held = [&](ArrayId id) {
    Held tile{.width = width(request, primitives.array(id))};
    for (const AxisId axis : primitives.array(id).axes) tile.axes |= bit_of(index(axis));
    return tile;
  };
  const auto add = [&](ArrayId id) {
    const auto& source = primitives.array(id).alias_of;
    if (source && contains(kernel.loads, *source)) return;  // NestCost has no views either
    moved_.push_back({held(id), volume(diagram, request, id) * width(request, primitives.array(id))});
  };
  for (const ArrayId id : kernel.loads) add(id);
  for (const ArrayId id : kernel.region.results) add(id);
  for (const int number : kernel.region.primitives)
    if (const ArrayId id = primitives.list[static_cast<std::size_t>(number)].output;
        !contains(kernel.region.results, id))
      made_.push_back(held(id));
}

double LeastTraffic::of(const LegalNest& nest) const {
  const NestCost& cost = nest.cost;
  const auto read = [&](std::size_t i) { return i >= cost.unread.size() || !cost.unread[i]; };
  std::array<double, max_axes> tiles{};
  for (std::size_t axis = 0; axis < sizes_.size(); ++axis)
    tiles[axis] = (batch_ & bit_of(axis)) != 0 ? 1 : sizes_[axis];
  std::vector<std::pair<AxisBits, double>>
      together;  // tiled axes of an array, and what their tiles multiply to at most
  const auto limit = [&](const Held& held) {
    double room = memory_ / held.width;
    for (std::size_t axis = 0; axis < sizes_.size(); ++axis)
      if ((held.axes & ~cost.tiled & bit_of(axis)) != 0) room /= sizes_[axis];
    together.emplace_back(held.axes & cost.tiled & ~batch_, room);
    return room >= 1;
  };
  bool fits = true;
  for (std::size_t i = 0; i < moved_.size(); ++i) fits = fits && (!read(i) || limit(moved_[i].held));
  for (const Held& held : made_) fits = fits && limit(held);
  if (!fits) return std::numeric_limits<double>::infinity();
  for (const auto& [axes, room] : together)
    for (std::size_t axis = 0; axis < sizes_.size(); ++axis)
      if ((axes & bit_of(axis)) != 0) tiles[axis] = std::min(tiles[axis], room);
  const auto total = [&] {
    double sum = 0;
    for (std::size_t i = 0; i < moved_.size(); ++i) {
      double values = read(i) ? moved_[i].once : 0;
      for (AxisBits left = cost.repeated[i].second & ~skipped_; left != 0; left &= left - 1) {
        const auto axis = static_cast<std::size_t>(std::countr_zero(left));
        if (axis < sizes_.size()) values *= sizes_[axis] / tiles[axis];
      }
      sum += values;
    }
    return sum;
  };
  double least = total();
  for (const auto& [axes, room] : together)
    if (std::popcount(axes) == 2) least = std::max(least, least_of_pair(axes, room, tiles, total));
  return least;
}

}  // namespace tilescope
