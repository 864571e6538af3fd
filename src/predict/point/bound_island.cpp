#include "predict/point/bound_island.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/checked.h"
#include "base/contains.h"
#include "cost/mask_ends.h"
#include "predict/point/block_memory.h"
#include "predict/point/products.h"
#include "predict/point/tensor_memory.h"

namespace tilescope {

namespace {

// Packed rows: one query head a KV head with the queries of all of its group, each of which sees what the last one
// does.
Nest bind_nest(const Plan& plan, const Island& island, const Point& point) {
  static const Mask unmasked{};
  const std::span<const std::int64_t> tiles{point.tiles.data(), point.tiles.size()};
  if (!plan.kernel.packed_rows) return tilescope::bind_nest(plan.schedule, island, point.workload, point.mask, tiles);
  Workload packed = point.workload;
  packed.q_len = checked_mul(packed.q_len, packed.size(Extent::group)), packed.heads_q = packed.heads_kv;
  return tilescope::bind_nest(plan.schedule, island, packed, unmasked, tiles);
}

// Of several implementations of an island, the one that runs for so many steps.
const IslandImplementation& implementation(const KernelDescriptor& kernel, int number, const Nest& nest) {
  const IslandImplementation& first = kernel.islands[static_cast<std::size_t>(number)];
  if (kernel.others.empty() || first.steps.hold(steps_of(nest))) return first;
  const auto runs = [&](const IslandImplementation& other) {
    return other.name == first.name && other.steps.hold(steps_of(nest));
  };
  return *std::find_if(kernel.others.begin(), kernel.others.end(), runs);  // the reader saw to it that there is one
}

// The pair of queries and keys that a mask guards, found where there is none: a row that ends early is a kind of mask.
void guard_unmasked(Nest& nest) {
  if (nest.guarded() || nest.mask->masks() || nest.chunked.present()) return;
  nest.find_guarded_pair();
  if (nest.query_loop < 0 || nest.key_loop < 0) nest.query_loop = nest.key_loop = -1;
}

}  // namespace

std::int64_t number_for(const BoundIsland& bound, const BySize& by, std::int64_t otherwise) {
  const auto axis = by.axis.empty() ? std::nullopt : bound.plan.schedule.diagram.find_axis(by.axis);
  if (!axis || by.numbers.empty()) return otherwise;
  const auto found = by.numbers.lower_bound(bound.nest.size(*axis));
  return found == by.numbers.end() ? by.numbers.rbegin()->second : found->second;
}

std::int64_t steps_of(const Nest& nest) {
  std::int64_t steps = 1;
  for (const BoundLoop& loop : nest.all())
    if (!loop.group) steps = checked_mul(steps, loop.trips);
  return steps;
}

std::int64_t row_lanes(const BoundIsland& bound) {
  const RowThreads& threads = bound.how.row_threads;
  if (threads.columns == 0) return bound.how.row_replication;
  return ceil_div(ceil_div(bound.point.workload.d_v, threads.columns), threads.multiple) * threads.multiple;
}

std::int64_t warps_of_block(const BoundIsland& bound) {
  return bound.how.warps > 0 ? bound.how.warps : bound.point.warps;
}

std::int64_t lanes_of_warp(const BoundIsland& bound) {
  return bound.hardware.warp_size ? bound.hardware.warp_size->value : 32;
}

std::int64_t grid_blocks(const BoundIsland& bound) {
  const int output = output_array(bound);
  if (bound.how.row_threads.columns == 0 || !bound.how.existing_rows || output < 0) return bound.nest.blocks();
  const Axes axes = bound.plan.schedule.diagram.arrays[static_cast<std::size_t>(output)].axes;
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) rows = checked_mul(rows, bound.nest.size(axes[i]));
  return ceil_div(checked_mul(rows, row_lanes(bound)), warps_of_block(bound) * lanes_of_warp(bound));
}

BoundIsland bind_loops(const Plan& plan, const HardwareProfile& hardware, const Point& point, int number,
                       BlockMemory* blocks) {
  const Island& island = plan.schedule.islands[static_cast<std::size_t>(number)];
  const Nest nest = bind_nest(plan, island, point);
  BoundIsland bound{.plan = plan,
                    .point = point,
                    .hardware = hardware,
                    .number = number,
                    .island = island,
                    .how = implementation(plan.kernel, number, nest),
                    .variant = nullptr,
                    .nest = nest,
                    .finish = nest,
                    .live = {},
                    .whole = {},
                    .summed = {},
                    .scored = {}};
  if (bound.how.stops_at_last_key > 0 || bound.how.narrow_scores.keys > 0)
    guard_unmasked(bound.nest), bound.finish = bound.nest;
  if (bound.how.writes_masked_rows) bound.finish.query_loop = bound.finish.key_loop = -1;
  if (!blocks) bound.own = std::make_shared<KnownBlock>();
  KnownBlock& known = blocks ? (*blocks)[static_cast<std::size_t>(number)] : *bound.own;
  bound.known = &known, bound.facts = &known.facts;
  const BlockKey key = blocks ? block_key(point, bound.how, bound.nest) : BlockKey{};
  if (!blocks || known.key != key) {
    known.forget();
    bound.variant = selected_variant(plan, point);
    bound.tensor_memory = tensor_memory_of(bound);
    known.facts = facts_of(bound);
    known.key = key, known.variant = bound.variant, known.tensor_memory = bound.tensor_memory;
  }
  bound.variant = known.variant, bound.tensor_memory = known.tensor_memory;
  return bound;
}

void bind_sums(BoundIsland& bound) {
  if (!bound.nest.guarded()) return;
  bound.live = stopped(bound.nest, sums_of(bound.nest, false), bound.how.stops_at_last_key > 0, false);
  bound.whole = sums_of(bound.nest, true);
  const NestSums computed = with_own_last_tiles(bound.nest, bound.whole, bound.how.own_last_tile);
  bound.summed = stopped(bound.nest, computed, bound.how.stops_at_last_key, true);
  bound.scored = narrowed(bound.nest, computed, bound.how.narrow_scores.rows, bound.how.narrow_scores.keys);
}

BoundIsland bind_island(const Plan& plan, const HardwareProfile& hardware, const Point& point, int number) {
  BoundIsland bound = bind_loops(plan, hardware, point, number);
  bind_sums(bound);
  return bound;
}

std::pmr::vector<BoundIsland> bind_islands(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                                           std::pmr::memory_resource* memory, BlockMemory* blocks) {
  // Made where it stays: a bound island is several KiB.
  struct Bind {
    const Plan& plan;
    const HardwareProfile& hardware;
    const Point& point;
    int number;
    BlockMemory* blocks;
    operator BoundIsland() const { return bind_loops(plan, hardware, point, number, blocks); }
  };
  std::pmr::vector<BoundIsland> islands(memory);
  islands.reserve(plan.schedule.islands.size());
  if (blocks) blocks->resize(plan.schedule.islands.size());
  for (int i = 0; i < static_cast<int>(plan.schedule.islands.size()); ++i)
    bind_sums(islands.emplace_back(Bind{plan, hardware, point, i, blocks}));
  return islands;
}

bool BoundIsland::streams(ArrayId id) const {
  if (facts->known) return IslandFacts::has(facts->streams, id);
  const AxisBits axes = bits(plan.schedule.diagram.array(id).axes);
  const auto moves = [&](const BoundLoop& loop) { return !loop.group && Nest::carries(axes, loop); };
  return std::any_of(nest.all().begin(), nest.all().end(), moves);
}

std::uint32_t awaited_by_plan(const BoundIsland& bound, ArrayId id) {
  const Plan& plan = bound.plan;
  const Nest& nest = bound.nest;
  if (plan.times.empty()) return 0;
  const std::uint32_t axes = plan.times[static_cast<std::size_t>(bound.number)].awaits[index(id)];
  const AxisBits array = bits(plan.schedule.diagram.array(id).axes);
  std::uint32_t found = 0;
  for (std::size_t l = 0; axes != 0 && l < nest.loop_count; ++l) {
    const BoundLoop& loop = nest.loops[l];
    const bool part = nest.chunked.present() && static_cast<int>(l) == nest.chunked.inner;
    if (loop.group || part || Nest::carries(array, loop)) continue;
    if ((axes >> index(loop.axis) & 1) != 0) found |= std::uint32_t{1} << l;
  }
  return found;
}

const Nest& BoundIsland::leaving(ArrayId id) const { return streams(id) ? nest : finish; }

std::uint32_t BoundIsland::awaited(ArrayId id) const {
  std::uint32_t found = facts->known ? facts->awaits[index(id)] : awaited_by_plan(*this, id);
  for (std::uint32_t left = found; left != 0; left &= left - 1)
    if (const int loop = std::countr_zero(left); nest.loops[static_cast<std::size_t>(loop)].trips < 2)
      found &= ~(std::uint32_t{1} << loop);
  return found;
}

Nest in_one_step(Nest nest, std::uint32_t loops) {
  for (std::size_t l = 0; l < nest.loop_count; ++l)
    if ((loops >> l & 1) != 0) nest.loops[l].tile = nest.loops[l].size, nest.loops[l].trips = 1;
  return nest;
}

Nest BoundIsland::seen_by(ArrayId id, const Nest& of) const { return in_one_step(of, awaited(id)); }

bool BoundIsland::computed_again(ArrayId id) const {
  return !plan.times.empty() && plan.times[static_cast<std::size_t>(number)].computed_again[index(id)];
}

bool loads_by_plan(const BoundIsland& bound, ArrayId id) {
  if (bound.plan.times.empty()) return bound.plan.schedule.reads(bound.island, id);  // a plan put together by hand
  return bound.plan.times[static_cast<std::size_t>(bound.number)].loaded[index(id)];
}

bool fetched_every_step(const BoundIsland& bound, ArrayId id) {
  if (bound.facts->known) return IslandFacts::has(bound.facts->every_step, id);
  return contains(bound.how.loads_every_step, bound.plan.schedule.diagram.array(id).name);
}

bool copied_in_bulk(const BoundIsland& bound, ArrayId id) {
  if (bound.facts->known) return IslandFacts::has(bound.facts->in_bulk, id);
  return bound.how.load().bulk && !contains(bound.how.loaded_by_threads, bound.plan.schedule.diagram.array(id).name);
}

bool stores_by_plan(const BoundIsland& bound, ArrayId id) {
  if (!bound.plan.schedule.writes(bound.island, id)) return false;
  const auto kept_there = [&](const Stored& stored) {
    return stored.as == id;
  };  // state and partial results are needed again
  const auto& stored_as = bound.island.stored_as;
  if (bound.how.stores_log_sum_exp || std::any_of(stored_as.begin(), stored_as.end(), kept_there)) return true;
  // A softmax's outputs after its first are per-row statistics.
  for (const int op : bound.island.operators) {
    const Operator& candidate = bound.plan.schedule.diagram.operators[static_cast<std::size_t>(op)];
    if (candidate.kind != OperatorKind::softmax) continue;
    for (std::size_t i = 1; i < candidate.outputs.size(); ++i)
      if (candidate.outputs[i] == id) return false;
  }
  return true;
}

std::int64_t tile_values(const BoundIsland& bound, ArrayId id) {
  std::int64_t values = 1;
  for (const AxisId axis : bound.plan.schedule.diagram.array(id).axes) {
    std::int64_t extent = bound.nest.size(axis);
    for (const BoundLoop& loop : bound.nest.all())
      if (loop.axis == axis) extent = loop.tile;
    values = checked_mul(values, extent);
  }
  return values;
}

std::int64_t tile_bytes(const BoundIsland& bound, ArrayId id) {
  return bytes_of(bound.point, bound.plan.schedule.diagram, id, tile_values(bound, id));
}

std::int64_t touched_bytes(const BoundIsland& bound, ArrayId id, TouchOptions options) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const NestSums& live = options.whole_tiles ? bound.whole : bound.live;
  const Axes axes = diagram.array(id).axes;
  const auto touched_once = [&] {
    const Nest own = bound.seen_by(id, bound.nest);
    return touched_values(own, own.guarded() ? sums_of(own, options.whole_tiles) : live, axes, options);
  };
  const std::int64_t values = bound.awaited(id) != 0 ? touched_once() : touched_values(bound.nest, live, axes, options);
  return options.whole_tiles ? bytes_of(bound.point, diagram, id, values)
                             : padded_bytes_of(bound.point, diagram, id, values);
}

const NestSums& sums_of_product(const BoundIsland& bound, int op) {
  if (!bound.nest.guarded()) return bound.whole;  // nobody looks at it
  const Diagram& diagram = bound.plan.schedule.diagram;
  const Operator& product = diagram.operators[static_cast<std::size_t>(op)];
  const auto has_key = [&](ArrayId id) { return diagram.guard && diagram.array(id).has(diagram.guard->key); };
  if (std::none_of(product.inputs.begin(), product.inputs.end(), has_key)) return bound.whole;
  return std::any_of(product.outputs.begin(), product.outputs.end(), has_key) ? bound.scored : bound.summed;
}

namespace {

Visits counted_visits(const BoundIsland& bound, ArrayId id, bool whole_tiles) {
  const Axes axes = bound.plan.schedule.diagram.array(id).axes;
  const bool awaits = bound.awaited(id) != 0;
  std::optional<Nest> own;
  if (awaits) own = bound.seen_by(id, bound.leaving(id));
  const Nest& nest = awaits ? *own : bound.leaving(id);
  std::optional<NestSums> own_sums;
  if (awaits && own->guarded()) own_sums = sums_of(*own, whole_tiles);
  const NestSums& sums = own_sums ? *own_sums : whole_tiles ? bound.whole : bound.live;
  Visits found{
      touched_values(nest, sums, axes, {.resident = !fetched_every_step(bound, id), .whole_tiles = whole_tiles}),
      distinct_values(nest, sums, axes, whole_tiles)};
  // What a stream never visits is stored once all the same, where the kernel says so and nothing was there before.
  if (!nest.guarded() || !bound.how.writes_masked_rows || bound.plan.schedule.how_stored(bound.island, id).zeroed)
    return found;
  const std::int64_t all = distinct_values(bound.finish, sums, axes, whole_tiles), unseen = all - found.distinct;
  return {checked_add(found.visits, unseen), all};
}

}  // namespace

Visits visits_of(const BoundIsland& bound, ArrayId id, bool whole_tiles) {
  if (whole_tiles) return counted_visits(bound, id, true);
  if (!IslandFacts::has(bound.visits.known, id)) note_visits(bound, id, counted_visits(bound, id, false));
  return bound.visits.of[index(id)];
}

bool zeroed_by_another(const BoundIsland& bound, ArrayId id) {
  const std::string& name = bound.plan.schedule.diagram.array(id).name;
  const auto& islands = bound.plan.kernel.islands;
  return std::any_of(islands.begin(), islands.end(), [&](const IslandImplementation& each) {
    return &each != &bound.how && contains(each.zeroes, name);
  });
}

StoreCounts counts_of_store(const BoundIsland& bound, ArrayId id) {
  const Stored how = bound.plan.schedule.how_stored(bound.island, id);
  const Axes axes = bound.plan.schedule.diagram.array(id).axes;
  if (how.zeroed) {
    StoreCounts counts = stored_values(bound.leaving(id), bound.live, axes, how);
    if (zeroed_by_another(bound, id)) counts.zeros = 0;
    return counts;
  }
  const Visits found = visits_of(bound, id);
  return {found.visits, bound.computed_again(id) ? 0 : found.visits - found.distinct};
}

int score_array(const BoundIsland& bound) {
  if (bound.facts->known) return bound.facts->scores;
  const Diagram& diagram = bound.plan.schedule.diagram;
  if (!diagram.guard) return -1;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i)
    if (diagram.arrays[i].has(diagram.guard->query) && diagram.arrays[i].has(diagram.guard->key))
      return static_cast<int>(i);
  return -1;
}

int output_array(const BoundIsland& bound) {
  if (bound.facts->known) return bound.facts->output;
  const Schedule& schedule = bound.plan.schedule;
  for (auto op = bound.island.operators.rbegin(); op != bound.island.operators.rend(); ++op)
    for (const ArrayId id : schedule.diagram.operators[static_cast<std::size_t>(*op)].outputs) {
      if (schedule.writes(bound.island, id)) return static_cast<int>(id);
      for (const Stored& stored : bound.island.stored_as)  // partial results stand for theirs
        if (stored.result == id &&
            schedule.diagram.array(stored.as).axes.size() > schedule.diagram.array(id).axes.size())
          return static_cast<int>(stored.as);
    }
  return -1;
}

}  // namespace tilescope
