#include "hardware/sm/residency.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"

namespace tilescope {
namespace {

constexpr std::int64_t most_blocks = 32, lane_registers = 8;  // of any GPU, where the profile does not say

std::int64_t warp_of(const HardwareProfile& hardware) { return hardware.warp_size ? hardware.warp_size->value : 32; }

std::int64_t whole(const std::optional<Sourced<double>>& bytes) { return bytes ? std::llround(bytes->value) : 0; }

}  // namespace

LevelFit fit_level(const MemoryLevel& level, Copied copied, std::int64_t block_bytes, std::int64_t copy_bytes) {
  const bool parts = copied == Copied::parts_of_a_block;
  LevelFit fit{.level = level.id,
               .capacity_bytes = whole(parts && level.capacity_per_block_bytes ? level.capacity_per_block_bytes
                                                                               : level.capacity_bytes),
               .block_bytes = block_bytes,
               .copy_bytes = parts ? copy_bytes : checked_add(copy_bytes, whole(level.reserved_per_block_bytes)),
               .copies_max = {},
               .copies = 0};
  if (fit.copy_bytes == 0) return fit;
  const std::int64_t left = fit.capacity_bytes - fit.block_bytes;
  fit.copies_max = static_cast<double>(left) / static_cast<double>(fit.copy_bytes);
  fit.copies = std::max<std::int64_t>(0, left) / fit.copy_bytes;
  return fit;
}

std::int64_t allocated_registers(const HardwareProfile& hardware, std::int64_t of_thread) {
  const auto& unit = hardware.register_allocation_unit;
  const std::int64_t of_lane = unit ? std::max<std::int64_t>(1, unit->value / warp_of(hardware)) : lane_registers;
  return checked_mul(ceil_div(of_thread, of_lane), of_lane);
}

Residency::Residency(const HardwareProfile& hardware, Copied copied, std::int64_t threads) : hardware_(hardware) {
  if (copied == Copied::parts_of_a_block) {
    if (hardware.max_threads_per_block) copies_ = hardware.max_threads_per_block->value / threads;
  } else {
    copies_ = hardware.max_blocks_per_unit ? hardware.max_blocks_per_unit->value : most_blocks;
    if (hardware.max_warps_per_unit)
      copies_ = std::min(*copies_, hardware.max_warps_per_unit->value * warp_of(hardware) / threads);
  }
  exactly_ = static_cast<double>(copies());
}

void Residency::limit(const LevelFit& fit) {
  if (!fit.copies_max) return;
  if (copies_ && (fit.copies > *copies_ || (fit.copies == *copies_ && *fit.copies_max >= exactly_))) return;
  copies_ = fit.copies, limited_by_ = fit.level, exactly_ = *fit.copies_max;
}

void Residency::limit_registers(std::int64_t of_copy) {
  if (!hardware_.registers_per_unit || of_copy <= 0) return;
  const std::int64_t all = hardware_.registers_per_unit->value;
  limit({.level = LevelId::reg,
         .capacity_bytes = all * 4,
         .copy_bytes = of_copy * 4,
         .copies_max = static_cast<double>(all) / static_cast<double>(of_copy),
         .copies = all / of_copy});
}

}  // namespace tilescope
