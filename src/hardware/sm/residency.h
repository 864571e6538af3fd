// How many blocks a multiprocessor holds at once, or how many warps and warpgroups of one block: the one place that
// says so, for predictions, simulated machine code and lowerings.
#pragma once

#include <cstdint>
#include <optional>

#include "hardware/profile.h"

namespace tilescope {

enum class Copied { blocks, parts_of_a_block };

// One memory: N_max = (capacity - block) / copy.
struct LevelFit {
  LevelId level = LevelId::smem;
  std::int64_t capacity_bytes = 0, block_bytes = 0, copy_bytes = 0;
  std::optional<double> copies_max;  // absent: no copy needs this level
  std::int64_t copies = 0;           // whole ones; meaningless when absent above
};

// `level` with copies of so many bytes, and what their block takes once. Parts of a block have a block's share of it; a
// block takes what the system reserves, too.
LevelFit fit_level(const MemoryLevel& level, Copied copied, std::int64_t block_bytes, std::int64_t copy_bytes);

// 32-bit registers that a thread is given: a warp gets whole allocation units.
std::int64_t allocated_registers(const HardwareProfile& hardware, std::int64_t of_thread);

class Residency {
 public:
  // As many copies of so many threads as threads, and the blocks that a multiprocessor can have, allow.
  Residency(const HardwareProfile& hardware, Copied copied, std::int64_t threads);

  // No more than fit. Of memories that hold equally many copies, the one with the least to spare limits them.
  void limit(const LevelFit& fit);
  void limit_registers(std::int64_t of_copy);  // allocated ones, of all its threads

  std::int64_t copies() const { return copies_.value_or(0); }  // 0 also where nothing limits them
  bool limited() const { return copies_.has_value(); }
  std::optional<LevelId> limited_by() const { return limited_by_; }  // absent: threads, or nothing

 private:
  const HardwareProfile& hardware_;
  std::optional<std::int64_t> copies_;
  std::optional<LevelId> limited_by_;
  double exactly_ = 0;  // copies_, before rounding
};

}  // namespace tilescope
