#include "predict/traffic/spills.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/checked.h"
#include "predict/point/products.h"

namespace tilescope {
namespace {

// What shared memory leaves of a unit's memory to L1: the launch sets aside as much as lets most blocks run, whatever
// else limits them, or the most there is where the kernel asks for it. 0: not known, or nothing.
double l1_bytes(const BoundIsland& bound, const Footprint& footprint) {
  const auto& measured = bound.hardware.measured;
  const MemoryLevel* smem = bound.hardware.level(LevelId::smem);
  if (!measured || !measured->local.l1 || !smem || !smem->capacity_bytes) return 0;
  const double most = smem->capacity_bytes->value;
  double taken = 0;
  if (footprint.modelled) {
    const double block = static_cast<double>(footprint.smem.bytes) +
                         (smem->reserved_per_block_bytes ? smem->reserved_per_block_bytes->value : 0);
    taken = bound.variant->local.least_l1 || block <= 0 ? most : std::floor(most / block) * block;
  }
  return std::max(0.0, measured->local.l1->value - taken);
}

// The part of the loads that L1 does not hold: the blocks of a unit sweep their frames round and round. A sweep that
// fits hits; one that does not finds, where lines leave at random, a part h = exp(-(1 - h) swept / L1) of them.
double swept_out_part(double swept, double l1) {
  if (swept <= l1) return 0;
  if (l1 <= 0) return 1;
  double hits = 0;
  for (int i = 0; i < 100; ++i) hits = std::exp(-(1 - hits) * swept / l1);
  return 1 - hits;
}

std::array<double, local_ages> parts_by_age(const std::vector<double>& bytes) {
  std::array<double, local_ages> parts{};
  const double all = std::accumulate(bytes.begin(), bytes.end(), 0.0);
  for (std::size_t i = 0; i < bytes.size() && all > 0; ++i) parts[i] = bytes[i] / all;
  return parts;
}

}  // namespace

double block_frame_bytes(const BoundIsland& bound) {
  if (!bound.variant || !bound.how.uses_tensor_cores() || !bound.hardware.warp_size) return 0;
  return static_cast<double>(bound.variant->local.frame) *
         static_cast<double>(consumer_warps(bound) * bound.hardware.warp_size->value);
}

SpillTraffic spills_of(const BoundIsland& bound, const Footprint& footprint, const Occupancy& occupancy) {
  SpillTraffic spills;
  const double frame = block_frame_bytes(bound);
  if (frame == 0) return spills;
  const LocalMemory& local = bound.variant->local;
  const double threads = static_cast<double>(consumer_warps(bound) * bound.hardware.warp_size->value);
  const double blocks = static_cast<double>(bound.nest.blocks());
  const double steps = static_cast<double>(visited_points(bound.nest, bound.whole, {}, true));
  // A launch of few blocks leaves places empty.
  const std::int64_t together =
      std::clamp<std::int64_t>(occupancy.blocks_per_unit, 1,
                               std::max<std::int64_t>(1, ceil_div(bound.nest.blocks(), bound.hardware.units.value)));
  const double frames = frame * static_cast<double>(together);
  const double missed = swept_out_part(frames, l1_bytes(bound, footprint));
  const auto whole = [](double bytes) { return static_cast<std::int64_t>(std::llround(bytes)); };
  spills.local.stored = whole(threads * (steps * local.stored_step + blocks * local.stored));
  spills.local.loaded = whole(threads * (steps * local.loaded_step + blocks * local.loaded));
  spills.local.missed = whole(missed * static_cast<double>(spills.local.loaded));
  spills.block_frame = whole(frame);
  spills.at_once =
      frame * std::min(blocks, static_cast<double>(occupancy.blocks_per_unit * bound.hardware.units.value));
  spills.stored_after = parts_by_age(local.stored_after), spills.loaded_after = parts_by_age(local.loaded_after);
  if (local.stored_after.empty()) {  // not known: once a step to the whole frame, all else to what was just touched
    const double last = std::min(1.0, static_cast<double>(local.frame) / std::max(1.0, local.stored_step));
    spills.stored_after.front() = 1 - last, spills.stored_after.back() = last;
    spills.loaded_after.front() = 1;
  }
  return spills;
}

}  // namespace tilescope
