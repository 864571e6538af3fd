#include "predict/explain/orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory_resource>

#include "base/checked.h"
#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "predict/point/bound_island.h"
#include "predict/predict.h"

namespace tilescope {
namespace {

std::size_t busiest_island(const Prediction& prediction) {
  const auto less = [](const IslandPrediction& a, const IslandPrediction& b) {
    return a.work.tensor_flop < b.work.tensor_flop;
  };
  return static_cast<std::size_t>(std::max_element(prediction.islands.begin(), prediction.islands.end(), less) -
                                  prediction.islands.begin());
}

// The tiles of a head that blocks own: queries or keys.
std::optional<GridDimension> rows_of(const IslandImplementation& how) {
  for (const GridDimension rows : {GridDimension::q, GridDimension::kv})
    if (contains(how.block_order, rows)) return rows;
  return std::nullopt;
}

IslandImplementation plain(const IslandImplementation& how, const std::vector<GridDimension>& order, bool rows_fall) {
  IslandImplementation changed = how;
  changed.block_order = order, changed.sections.reset();
  const GridDimension rows = rows_of(how).value();
  changed.falling.erase(rows);
  if (rows_fall) changed.falling[rows] = When::always;
  return changed;
}

// Sections of so many KV heads: a budget of as many bytes, of which each head takes one.
IslandImplementation in_sections(const IslandImplementation& how, std::int64_t heads, bool rows_fall) {
  IslandImplementation changed = plain(how, how.block_order, rows_fall);
  changed.sections = Sections{.when = When::always,
                              .order = {GridDimension::heads, rows_of(how).value()},
                              .arrays = {},
                              .l2_share = 0,
                              .bytes = heads,
                              .equal = false};
  return changed;
}

std::string own_name(const IslandImplementation& how) {
  std::string text = join(to_strings(how.block_order), ", ");
  for (const auto& [dimension, when] : how.falling)
    if (contains(how.block_order, dimension))
      text += fmt::format(", {} falling{}", to_string(dimension), when == When::causal ? " (causal)" : "");
  if (how.sections)
    text += fmt::format("; sections of heads{}: {}", how.sections->when == When::causal ? " (causal)" : "",
                        join(to_strings(how.sections->order), ", "));
  return text;
}

// Every order is walked: what would take minutes is refused.
void require_few_steps(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  constexpr std::int64_t most_steps = std::int64_t{1} << 27;  // of all orders together: some seconds
  std::array<std::byte, 16 << 10> buffer;
  std::pmr::monotonic_buffer_resource memory(buffer.data(), buffer.size());
  std::int64_t steps = 0;
  for (const BoundIsland& launch : bind_islands(plan, hardware, point, &memory))
    steps = checked_add(steps, visited_points(launch.nest, launch.live, {}, false));
  const auto heads = static_cast<std::uint64_t>(checked_mul(point.workload.batch, point.workload.heads_kv));
  const std::int64_t orders = (point.mask.masks() ? 2 : 1) * (1 + std::bit_width(heads));
  if (steps <= most_steps / orders) return;
  refuse("--orders", fmt::format("walks {} steps in up to {} orders, at most {} steps each can be; give a smaller "
                                 "batch, fewer heads or shorter lengths",
                                 with_thousands(steps), orders, with_thousands(most_steps / orders)));
}

}  // namespace

std::vector<OrderedTraffic> traffic_by_order(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  require_few_steps(plan, hardware, point);
  Point walked = point;
  walked.l2 = L2Model::walk;
  Prediction prediction;
  std::vector<OrderedTraffic> found;
  const auto add = [&](const Plan& ordered, const std::string& name, bool own) {
    predict(ordered, hardware, walked, prediction);
    found.push_back({name, own, prediction.traffic[LevelId::hbm][0], prediction.traffic[LevelId::hbm][1]});
  };
  add(plan, "", true);
  const std::size_t island = busiest_island(prediction);
  const MemoryLevel* l2 = hardware.level(LevelId::l2);
  if (l2 && l2->capacity_bytes && !prediction.islands[island].l2_walked)
    refuse("--orders",
           "the walk of this point would take too long, and the closed form knows no orders; give smaller tiles, a "
           "smaller batch, fewer heads or shorter lengths");
  const IslandImplementation& how = plan.kernel.islands[island];
  found.front().order = own_name(how);
  const auto rows = rows_of(how);
  if (!rows) return found;
  Plan other = plan;
  const auto try_order = [&](const IslandImplementation& changed, const std::string& name) {
    other.kernel.islands[island] = changed;
    add(other, name, false);
  };
  std::vector<GridDimension> inner, outer;  // the tiles of a head fastest, and slowest
  for (const GridDimension dimension : how.block_order)
    (properties(dimension).within_head ? inner : outer).push_back(dimension);
  std::vector<GridDimension> by_head = inner, by_tile = outer;
  by_head.insert(by_head.end(), outer.begin(), outer.end()), by_tile.insert(by_tile.end(), inner.begin(), inner.end());
  const bool masked = point.mask.masks();
  for (const bool falls : {false, true}) {
    if (falls && !masked) continue;  // without a mask a direction is as good as the other
    const std::string row = (falls ? "falling " : "") + to_string(*rows);
    try_order(plain(how, by_head, falls), fmt::format("{}, one head after the other", row));
    try_order(plain(how, by_tile, falls), fmt::format("all heads in turns, {} slowest", row));
    if (inner.size() > 1) continue;
    for (std::int64_t heads = 2; heads < point.workload.batch * point.workload.heads_kv; heads *= 2)
      try_order(in_sections(how, heads, falls),
                fmt::format("sections of {} KV heads in turns, {} slowest", heads, row));
  }
  const auto less = [](const OrderedTraffic& a, const OrderedTraffic& b) {
    return a.read_bytes + a.write_bytes < b.read_bytes + b.write_bytes;
  };
  std::stable_sort(found.begin(), found.end(), less);
  return found;
}

}  // namespace tilescope
