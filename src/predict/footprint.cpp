// What a thread block keeps in shared memory and registers, and how many blocks a unit can hold.
#include <algorithm>

#include "base/checked.h"
#include "predict/island.h"

namespace tilescope {
namespace {

constexpr std::int64_t accumulator_bytes = 4;   // fp32 accumulators, by instruction definition
constexpr std::int64_t bookkeeping_registers = 40;  // addresses, loop state, fragments in flight: an assumption, occupancy only

bool held(const BoundIsland& bound, ArrayId id) {
  return bound.variant && bound.variant->holds(bound.plan.schedule.diagram.array(id).name);
}

std::int64_t tile_values(const BoundIsland& bound, ArrayId id) {
  const std::int64_t width = bits(bound.point.dtypes[index(id)].format);
  return width >= 8 ? tile_bytes(bound, id) / (width / 8) : tile_bytes(bound, id) * (8 / width);
}

Allocations shared_memory(const BoundIsland& bound) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  Allocations inputs;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (!loads(bound, id)) continue;
    const int last = last_loop(bound.nest, diagram.arrays[i].axes);
    const bool streamed = last >= 0 && !bound.nest.loops[static_cast<std::size_t>(last)].group;
    inputs.add({id, false, streamed ? bound.how.stages : 1, tile_bytes(bound, id)});
  }
  const int staged = output_array(bound);
  if (!bound.how.output_through_smem || staged < 0) return inputs;
  const auto id = static_cast<ArrayId>(staged);
  if (tile_bytes(bound, id) <= inputs.bytes) return inputs;
  Allocations output;  // takes the inputs' space when they are done
  output.add({id, false, 1, tile_bytes(bound, id)});
  return output;
}

Allocations registers(const BoundIsland& bound) {
  Allocations held_here;
  const Diagram& diagram = bound.plan.schedule.diagram;
  for (const int op : bound.island.operators) {
    const Operator& candidate = diagram.operators[static_cast<std::size_t>(op)];
    if (candidate.kind != OperatorKind::contraction) continue;
    const ArrayId result = candidate.outputs.front();
    held_here.add({result, true, 1, checked_mul(tile_values(bound, result), accumulator_bytes)});
    for (const ArrayId input : candidate.inputs)
      if (held(bound, input)) held_here.add({input, false, 1, tile_bytes(bound, input)});
  }
  return held_here;
}

double block_registers_capacity(const BoundIsland& bound) {
  const HardwareProfile& hardware = bound.hardware;
  if (!hardware.max_registers_per_thread || !hardware.warp_size) return 0;
  return static_cast<double>(hardware.max_registers_per_thread->value * hardware.warp_size->value * bound.point.warps * 4);
}

const char* largest_of(const BoundIsland& bound, const Allocations& list) {
  return list.largest >= 0 ? bound.plan.schedule.diagram.arrays[static_cast<std::size_t>(list.largest)].name.c_str() : "";
}

}  // namespace

Allocations allocations(const BoundIsland& bound, Boundary level) {
  return level == Boundary::smem ? shared_memory(bound) : registers(bound);
}

void Allocations::add(const Allocation& allocation) {
  if (count < list.size()) list[count++] = allocation;
  bytes = checked_add(bytes, allocation.bytes());
  if (allocation.bytes() > largest_bytes) largest_bytes = allocation.bytes(), largest = static_cast<int>(allocation.array);
}

void add_footprint(const BoundIsland& bound, Prediction& out) {
  if (!bound.how.uses_tensor_cores()) return;  // where a plain kernel keeps its tiles is its own affair
  const MemoryLevel* smem = bound.hardware.level("smem");
  const Allocations shared = shared_memory(bound), held_registers = registers(bound);
  const double smem_capacity = smem && smem->capacity_per_block_bytes ? smem->capacity_per_block_bytes->value : 0;
  out.footprint.push_back({Boundary::smem, bound.number, shared.bytes, smem_capacity, largest_of(bound, shared)});
  out.footprint.push_back({Boundary::reg, bound.number, held_registers.bytes, block_registers_capacity(bound), largest_of(bound, held_registers)});
}

std::int64_t resident_blocks_per_unit(const BoundIsland& bound, const Prediction& out) {
  if (bound.point.blocks_per_unit > 0) return bound.point.blocks_per_unit;
  const HardwareProfile& hardware = bound.hardware;
  std::int64_t blocks = hardware.max_blocks_per_unit ? hardware.max_blocks_per_unit->value : 32;
  if (hardware.max_warps_per_unit) blocks = std::min(blocks, hardware.max_warps_per_unit->value / std::max<std::int64_t>(1, bound.point.warps));
  for (const FootprintRow& row : out.footprint) {
    if (row.island != bound.number) continue;
    const MemoryLevel* smem = hardware.level("smem");
    if (row.level == Boundary::smem && smem && smem->capacity_bytes) {
      const double reserved = smem->reserved_per_block_bytes ? smem->reserved_per_block_bytes->value : 0;
      blocks = std::min(blocks, static_cast<std::int64_t>(smem->capacity_bytes->value / (static_cast<double>(row.bytes) + reserved)));
    }
    if (row.level == Boundary::reg && hardware.registers_per_unit && hardware.warp_size) {
      const std::int64_t threads = bound.point.warps * hardware.warp_size->value;
      const std::int64_t per_thread = std::min<std::int64_t>(255, row.bytes / 4 / threads + bookkeeping_registers);
      blocks = std::min(blocks, hardware.registers_per_unit->value / (threads * ceil_div(per_thread, 8) * 8));
    }
  }
  return std::max<std::int64_t>(1, blocks);
}

}  // namespace tilescope
