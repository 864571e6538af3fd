#include "predict/point/order/block_order.h"

#include <algorithm>

#include "base/contains.h"
#include "kernel/descriptor/grid_dimension.h"

namespace tilescope {
namespace {

// Takes the last digit off a number: number % count. Half as wide numbers are divided in half the time.
std::int64_t take_digit(std::int64_t& number, std::int64_t count) {
  if (((number | count) >> 32) == 0) {
    const auto narrow = static_cast<std::uint32_t>(number), by = static_cast<std::uint32_t>(count);
    number = narrow / by;
    return narrow % by;
  }
  const std::int64_t digit = number % count;
  number /= count;
  return digit;
}

bool applies(When when, const Mask& mask) { return when == When::always || mask.kind == MaskKind::causal; }

// Bytes of an array that belong to one head of K and V.
std::int64_t bytes_a_kv_head(const BoundIsland& bound, ArrayId id) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  std::int64_t values = 1;
  for (const AxisId axis : diagram.array(id).axes) {
    const std::optional<Extent>& extent = diagram.axes[index(axis)].extent;
    if (extent != Extent::batch && extent != Extent::heads_kv) values = checked_mul(values, bound.nest.size(axis));
  }
  return bytes_of(bound.point, diagram, id, values);
}

}  // namespace

GridDimension BlockOrder::dimension_of(const BoundIsland& bound, const BoundLoop& loop) {
  return grid_dimension(bound.plan.schedule.diagram, loop.axis);
}

bool BlockOrder::falls(const BoundIsland& bound, GridDimension dimension) {
  const auto found = bound.how.falling.find(dimension);
  return found != bound.how.falling.end() && applies(found->second, bound.point.mask);
}

// As many KV heads as have the listed arrays within the budget, at least one, each with all its query heads.
std::int64_t BlockOrder::section_heads(const BoundIsland& bound) const {
  const Sections& sections = *bound.how.sections;
  const Diagram& diagram = bound.plan.schedule.diagram;
  const MemoryLevel* l2 = bound.hardware.level(LevelId::l2);
  const double budget = sections.bytes > 0         ? static_cast<double>(sections.bytes)
                        : l2 && l2->capacity_bytes ? sections.l2_share * l2->capacity_bytes->value
                                                   : 0;
  std::int64_t bytes = 0;
  for (const std::string& name : sections.arrays)
    if (const auto id = diagram.find_array(name)) bytes = checked_add(bytes, bytes_a_kv_head(bound, *id));
  std::int64_t kv_heads = 1, per_kv_head = 1;
  for (const BoundLoop& loop : bound.nest.all())
    if (loop.group && dimension_of(bound, loop) == heads)
      (diagram.axes[index(loop.axis)].extent == Extent::heads_kv ? kv_heads : per_kv_head) *= loop.trips;
  const std::int64_t cut = across_batches_ ? checked_mul(kv_heads, count(batch)) : kv_heads;
  std::int64_t taken = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(budget / static_cast<double>(std::max<std::int64_t>(1, bytes))), 1, cut);
  while (!across_batches_ && cut % taken != 0) --taken;
  return taken * per_kv_head;
}

BlockOrder::BlockOrder(const BoundIsland& bound) : bound_(bound) {
  count_.fill(1);
  for (std::size_t i = bound.nest.loop_count; i-- > 0;) {
    const BoundLoop& loop = bound.nest.loops[i];
    if (!loop.group) continue;
    const auto dimension = static_cast<std::size_t>(dimension_of(bound, loop));
    count_[dimension] = checked_mul(count_[dimension], loop.trips);
    loops_[dimension].push_back({i, loop.trips});
  }
  for (const GridDimensionRow& row : EnumTable<GridDimension>::rows) {
    falls_[static_cast<std::size_t>(row.value)] = falls(bound, row.value);
    blocks_ = checked_mul(blocks_, count(row.value));
  }
  const auto& listed = bound.how.block_order;
  for (const GridDimension dimension : listed) order_.push_back({dimension, count(dimension)});
  for (const GridDimension dimension : {q, kv, heads, batch})  // what is not listed has one block, or is slowest
    if (!contains(listed, dimension)) order_.push_back({dimension, count(dimension)});
  if (const auto& sections = bound.how.sections; sections && applies(sections->when, bound.point.mask)) {
    across_batches_ = !sections->equal;
    smaller_first_ = sections->smaller_first;
    section_ = section_heads(bound);
    cut_heads_ = across_batches_ ? checked_mul(count(heads), count(batch)) : count(heads);
    for (const GridDimension dimension : sections->order) {
      inside_.push_back({dimension, count(dimension)});
      if (dimension != heads) per_head_ *= count(dimension);
    }
    // The grid orders the dimensions that sections do not.
    std::erase_if(order_, [&](const Digit& digit) {
      return contains(sections->order, digit.dimension) || (across_batches_ && digit.dimension == batch);
    });
  }
  const Nest& nest = bound.nest;
  if (!nest.guarded()) return;
  if (!nest.keys_are_chunked()) live_.push_back(nest.live_tiles());
  else
    for (std::int64_t chunk = 0; chunk < nest.chunked.chunks(); ++chunk)
      live_.push_back(nest.live_tiles_of_chunk(chunk));
}

// Loops of one dimension count together, the inner one fastest; the last one takes what is left.
void BlockOrder::place(BlockPlace& place, GridDimension dimension, std::int64_t trip) const {
  const auto number = static_cast<std::size_t>(dimension);
  const std::vector<LoopOf>& loops = loops_[number];
  if (falls_[number]) trip = count_[number] - 1 - trip;
  for (std::size_t i = 0; i < loops.size(); ++i)
    place[loops[i].loop] = i + 1 < loops.size() ? take_digit(trip, loops[i].trips) : trip;
}

BlockPlace BlockOrder::at(std::int64_t number) const {
  BlockPlace result{};
  if (section_ > 0) number = place_in_section(result, number);
  for (const Digit& digit : order_) place(result, digit.dimension, take_digit(number, digit.count));
  return result;
}

// Sets the dimensions that sections order. The number of those that they do not, as the grid has them.
std::int64_t BlockOrder::place_in_section(BlockPlace& result, std::int64_t number) const {
  const std::int64_t of_cut = cut_heads_ * per_head_, of_section = section_ * per_head_;
  std::int64_t cut = number, within = take_digit(cut, of_cut);
  if (smaller_first_) {
    within += cut_heads_ / section_ * of_section;
    if (within >= of_cut) within -= of_cut;
  }
  std::int64_t section = within, rest = take_digit(section, of_section), head = 0;
  const std::int64_t first = section * section_;
  for (const Digit& digit : inside_)
    if (digit.dimension == heads) head = first + take_digit(rest, std::min(section_, cut_heads_ - first));
    else place(result, digit.dimension, take_digit(rest, digit.count));
  place(result, heads, take_digit(head, count(heads)));
  if (across_batches_) place(result, batch, head);
  return cut;
}

std::int64_t BlockOrder::steps(const BlockPlace& place) const {
  const Nest& nest = bound_.nest;
  std::int64_t steps = 1;
  for (std::size_t i = 0; i < nest.loop_count; ++i) {
    const int at = static_cast<int>(i);
    if (nest.loops[i].group || (nest.guarded() && (at == nest.query_loop || at == nest.key_loop))) continue;
    const bool in_chunk = nest.chunked.present() && at == nest.chunked.inner;
    steps = checked_mul(steps,
                        in_chunk ? ceil_div(nest.chunked.length_of(place[static_cast<std::size_t>(nest.chunked.outer)]),
                                            nest.chunked.tile)
                                 : nest.loops[i].trips);
  }
  if (!nest.guarded()) return steps;
  const LiveTiles& live =
      live_[nest.keys_are_chunked() ? static_cast<std::size_t>(place[static_cast<std::size_t>(nest.chunked.outer)])
                                    : 0];
  const auto query = static_cast<std::size_t>(nest.query_loop), key = static_cast<std::size_t>(nest.key_loop);
  const bool own_query = nest.loops[query].group, own_key = nest.loops[key].group;
  const auto of_query = [&](std::int64_t tile) {
    return own_key ? std::int64_t{live.live(tile, place[key])} : live.live_keys(tile);
  };
  if (own_query) return checked_mul(steps, of_query(place[query]));
  if (own_key) return checked_mul(steps, live.live_queries(place[key]));
  std::int64_t pairs = 0;
  for (std::int64_t i = 0; i < live.query_tiles(); ++i) pairs = checked_add(pairs, of_query(i));
  return checked_mul(steps, pairs);
}

std::vector<std::int64_t> steps_in_issue_order(const BoundIsland& bound) {
  const BlockOrder order(bound);
  std::vector<std::int64_t> steps(static_cast<std::size_t>(order.size()));
  const Nest& nest = bound.nest;
  const auto is_in_blocks = [&](int loop) { return !nest.loops[static_cast<std::size_t>(loop)].group; };
  const bool whole_mask = !nest.guarded() || (is_in_blocks(nest.query_loop) && is_in_blocks(nest.key_loop));
  if (whole_mask && !nest.chunked.present()) {  // every block has the steps of the first
    std::fill(steps.begin(), steps.end(), order.steps({}));
    return steps;
  }
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = order.steps(order.at(static_cast<std::int64_t>(i)));
  return steps;
}

}  // namespace tilescope
