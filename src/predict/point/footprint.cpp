#include "predict/point/footprint.h"

#include <algorithm>

#include "base/checked.h"
#include "hardware/sm/residency.h"
#include "predict/point/block_memory.h"
#include "predict/point/code_of.h"
#include "predict/point/products.h"
#include "predict/point/tensor_memory.h"

namespace tilescope {
namespace {

constexpr std::int64_t bookkeeping_registers =
    40;  // addresses, loop state, fragments in flight: an assumption, occupancy only

// fp32 scores live from their product to the last map or softmax that uses them, in place; `last` of each operator's
// result.
int last_map_of(const BoundIsland& bound, int op) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  std::array<bool, max_arrays> in_place{};
  in_place[index(diagram.operators[static_cast<std::size_t>(op)].outputs.front())] = true;
  const std::size_t rank = diagram.array(diagram.operators[static_cast<std::size_t>(op)].outputs.front()).axes.size();
  int last = op;
  for (const int later : bound.island.operators) {
    const Operator& candidate = diagram.operators[static_cast<std::size_t>(later)];
    const auto uses = [&](ArrayId id) { return in_place[index(id)]; };
    if (later <= op || candidate.kind == OperatorKind::contraction ||
        std::none_of(candidate.inputs.begin(), candidate.inputs.end(), uses))
      continue;
    last = later;
    for (const ArrayId result : candidate.outputs)
      if (diagram.array(result).axes.size() == rank) in_place[index(result)] = true;
  }
  return last;
}

// A result that is read, updated and written at every visit: its tile is fetched beside the others.
bool rewritten(const BoundIsland& bound, ArrayId result) {
  for (const Stored& stored : bound.island.stored_as)
    if (stored.result == result) return stored.by == Accumulate::rewriting;
  return stores(bound, result);
}

// Whether the accumulator of `op` is alive while `now` runs: always when no stream moves its tile.
bool alive(const BoundIsland& bound, int op, int now) {
  const ArrayId result = bound.plan.schedule.diagram.operators[static_cast<std::size_t>(op)].outputs.front();
  return !bound.streams(result) || rewritten(bound, result) || (op <= now && now <= last_map_of(bound, op));
}

// Maximum and sum of each row of a streamed softmax, in every lane that repeats them.
void add_row_state(const BoundIsland& bound, const Operator& op, Allocations& held) {
  if (op.kind != OperatorKind::softmax || !bound.nest.loop_over(*op.along)) return;
  const ArrayId scores = op.inputs.front();
  const std::int64_t keys = std::max<std::int64_t>(1, bound.nest.loop_over(*op.along)->tile);
  held.add({op.outputs.back(), true, 1,
            checked_mul(tile_values(bound, scores) / keys, bound.how.row_replication * 2 * accumulator_bytes)});
}

Allocations registers_during(const BoundIsland& bound, int now) {
  Allocations held;
  const Diagram& diagram = bound.plan.schedule.diagram;
  for (const int op : bound.island.operators) {
    const Operator& candidate = diagram.operators[static_cast<std::size_t>(op)];
    add_row_state(bound, candidate, held);
    if (candidate.kind != OperatorKind::contraction || !alive(bound, op, now)) continue;
    if (bound.tensor_memory.used && !bound.streams(candidate.outputs.front())) continue;  // loaded in parts at the end
    const ProductImplementation* own = bound.how.find_product(candidate.name);
    const std::int64_t values = ceil_div(tile_values(bound, candidate.outputs.front()), own ? own->parts : 1);
    held.add({candidate.outputs.front(), true, 1, checked_mul(values, accumulator_bytes)});
  }
  for (std::size_t i = 0; i < diagram.arrays.size() && bound.variant; ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (bound.variant->holds(diagram.arrays[i].name)) held.add({id, false, 1, tile_bytes(bound, id)});
  }
  return held;
}

double block_registers_capacity(const BoundIsland& bound) {
  const HardwareProfile& hardware = bound.hardware;
  if (!hardware.max_registers_per_thread || !hardware.warp_size) return 0;
  std::int64_t each = hardware.max_registers_per_thread->value;
  if (bound.variant && bound.variant->consumer_registers > 0) each = std::min(each, bound.variant->consumer_registers);
  std::int64_t block = each * hardware.warp_size->value * consumer_warps(bound);
  if (hardware.registers_per_unit) block = std::min(block, hardware.registers_per_unit->value);
  return static_cast<double>(block) * 4;
}

// Of a thread, as the descriptor states or the summary of the machine code; 0: not known.
std::int64_t registers_of_code(const BoundIsland& bound) {
  const std::int64_t stated = number_for(bound, bound.how.registers_of, bound.how.registers);
  if (stated > 0) return stated;
  const InstanceCode* code = code_of(bound);
  return code ? code->registers : 0;
}

// Registers that a block occupies: as stated after their redistribution, else those of its machine code, else what its
// threads are bound to need.
std::int64_t block_registers(const BoundIsland& bound, std::int64_t bytes) {
  const std::int64_t warp = bound.hardware.warp_size->value, consumers = consumer_warps(bound),
                     threads = bound.point.warps * warp;
  const std::int64_t of_code = registers_of_code(bound),
                     needed = of_code > 0
                                  ? of_code
                                  : std::min<std::int64_t>(255, bytes / 4 / (consumers * warp) + bookkeeping_registers);
  const KernelVariant* stated = bound.variant && bound.variant->consumer_registers > 0 ? bound.variant : nullptr;
  if (!stated) return threads * allocated_registers(bound.hardware, needed);
  const std::int64_t others = stated->producer_registers > 0 ? stated->producer_registers : stated->consumer_registers;
  return consumers * warp * stated->consumer_registers + (threads - consumers * warp) * others;
}

}  // namespace

void Allocations::add(const Allocation& allocation) {
  if (count < list.size()) list[count++] = allocation;
  bytes = checked_add(bytes, allocation.bytes());
  if (allocation.bytes() > largest_bytes)
    largest_bytes = allocation.bytes(), largest = static_cast<int>(allocation.array);
}

// What lies there during the steps, and the results that take its place when the last step is done.
std::int64_t smem_extra_bytes(const BoundIsland& bound) {
  const bool own = bound.variant != nullptr && bound.variant->smem_extra_bytes;
  return own ? *bound.variant->smem_extra_bytes : bound.how.smem_extra_bytes;
}

Allocations smem_of_block(const BoundIsland& bound) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  Allocations steps, results;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    const bool leaves = stores(bound, id) && !bound.streams(id);
    if (leaves && (passes_through_smem(bound, id) ||
                   (bound.how.output_through_smem && static_cast<int>(i) == output_array(bound))))
      results.add({id, false, 1, tile_bytes(bound, id)});
    else if (loads(bound, id) ? in_shared_memory(bound, id) : passes_through_smem(bound, id))
      steps.add({id, false, stages_of(bound, id), tile_bytes(bound, id)});
    if (const auto format = rewritten_as(bound, id))
      steps.add({id, false, 1, ceil_div(checked_mul(tile_values(bound, id), bits(*format)), 8)});
  }
  Allocations& larger = results.bytes > steps.bytes ? results : steps;
  larger.bytes = checked_add(larger.bytes, smem_extra_bytes(bound));
  return larger;
}

Allocations registers_of_block(const BoundIsland& bound) {
  Allocations most;
  for (const int now : bound.island.operators) {
    Allocations held = registers_during(bound, now);
    if (held.bytes > most.bytes) most = held;
  }
  return most;
}

Allocations tensor_memory_of_block(const BoundIsland& bound) {
  Allocations most;
  if (!bound.tensor_memory.used) return most;
  const Diagram& diagram = bound.plan.schedule.diagram;
  for (const int now : bound.island.operators) {
    Allocations held;
    for (const int op : bound.island.operators) {
      const Operator& candidate = diagram.operators[static_cast<std::size_t>(op)];
      const ArrayId result = candidate.outputs.front();
      if (candidate.kind == OperatorKind::contraction && accumulator_lives(bound, op, now))
        held.add({result, true, 1, checked_mul(tile_values(bound, result), accumulator_bytes)});
    }
    if (held.bytes > most.bytes) most = held;
  }
  return most;
}

namespace {

std::int64_t resident_blocks_per_unit(const BoundIsland& bound) {
  if (bound.point.blocks_per_unit > 0) return bound.point.blocks_per_unit;
  const Footprint& footprint = footprint_of(bound);
  const HardwareProfile& hardware = bound.hardware;
  const std::int64_t threads =
      std::max<std::int64_t>(1, warps_of_block(bound)) * (hardware.warp_size ? hardware.warp_size->value : 32);
  Residency residency(hardware, Copied::blocks, threads);
  if (const std::int64_t registers = registers_of_code(bound); registers > 0 && !footprint.modelled)
    residency.limit_registers(threads * allocated_registers(hardware, registers));
  if (footprint.modelled) {
    const MemoryLevel* smem = hardware.level(LevelId::smem);
    if (smem && smem->capacity_bytes) residency.limit(fit_level(*smem, Copied::blocks, 0, footprint.smem.bytes));
    if (footprint.tmem.bytes > 0)
      residency.limit(fit_level(*hardware.level(LevelId::tmem), Copied::blocks, 0, footprint.tmem.bytes));
    if (hardware.warp_size) residency.limit_registers(block_registers(bound, footprint.registers.bytes));
  }
  return std::max<std::int64_t>(1, residency.copies());
}

Footprint new_footprint(const BoundIsland& bound) {
  Footprint footprint;
  if (!bound.how.uses_tensor_cores()) return footprint;
  footprint.modelled = true;
  footprint.smem = smem_of_block(bound), footprint.registers = registers_of_block(bound);
  const MemoryLevel* smem = bound.hardware.level(LevelId::smem);
  if (smem && smem->capacity_per_block_bytes) footprint.smem_capacity = smem->capacity_per_block_bytes->value;
  footprint.register_capacity = block_registers_capacity(bound);
  footprint.tmem = tensor_memory_of_block(bound);
  if (bound.tensor_memory.used) footprint.tmem_capacity = bound.hardware.level(LevelId::tmem)->capacity_bytes->value;
  return footprint;
}

}  // namespace

const Footprint& footprint_of(const BoundIsland& bound) {
  KnownBlock& known = *bound.known;
  if (!known.has_footprint) known.footprint = new_footprint(bound), known.has_footprint = true;
  return known.footprint;
}

// Blocks that stay take one tile after the other: there are no more of them than run at once.
Occupancy occupancy_of(const BoundIsland& bound) {
  Occupancy occupancy;
  std::int64_t& known = bound.known->blocks_per_unit;
  // Blocks are alike, their registers are not: sizes choose the instance.
  const bool by_size = !bound.how.registers_of.axis.empty() || !bound.plan.kernel.launch_codes.empty();
  if (known == 0 || by_size) known = resident_blocks_per_unit(bound);
  occupancy.blocks_per_unit = known;
  occupancy.blocks = grid_blocks(bound);
  if (bound.how.persistent)
    occupancy.blocks = std::min(occupancy.blocks, checked_mul(occupancy.blocks_per_unit, bound.hardware.units.value));
  return occupancy;
}

BlockKey block_key(const Point& point, const IslandImplementation& how, const Nest& nest) {
  BlockKey key{.how = &how,
               .warps = point.warps,
               .stages = point.stages,
               .blocks_per_unit = point.blocks_per_unit,
               .workload = point.workload,
               .tiles = point.tiles,
               .loop_tiles = {},
               .sizes = nest.sizes};
  for (std::size_t i = 0; i < nest.loop_count; ++i) key.loop_tiles[i] = nest.loops[i].tile;
  const auto arrays = static_cast<std::ptrdiff_t>(nest.diagram->arrays.size());
  if (!std::all_of(point.dtypes.begin(), point.dtypes.begin() + arrays,
                   [](const Dtype& dtype) { return whole_bytes(dtype) > 0; }))
    return key;
  key.workload = {.d_qk = point.workload.d_qk, .d_v = point.workload.d_v};
  for (const BoundLoop& loop : nest.all()) key.sizes[index(loop.axis)] = 0;
  return key;
}

}  // namespace tilescope
