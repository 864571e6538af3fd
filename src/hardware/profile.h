// A GPU as the model sees it. Every number keeps its source; what a profile does not state is absent, never guessed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/level.h"
#include "hardware/measured.h"
#include "hardware/sourced.h"

namespace tilescope {

// A hardware counter that measures a model quantity: quantity = metric * scale.
struct Counter {
  std::string metric;  // CUPTI metric, e.g. "dram__bytes_read.sum"
  double scale = 1;    // model units (bytes, FLOP, operations) per count
  std::string note;    // semantics that bite; may be empty
};

struct LevelCounters {
  std::optional<Counter> read, write;
};

struct MemoryLevel {
  LevelId id = LevelId::hbm;
  std::optional<Sourced<double>> capacity_bytes;  // whole device for hbm, l2; per unit for smem, register, tmem
  std::optional<Sourced<double>> capacity_per_block_bytes;    // smem: most one thread block may take
  std::optional<Sourced<double>> reserved_per_block_bytes;    // smem: what the system takes from each block
  std::optional<Sourced<double>> bandwidth_bytes_per_second;  // whole device, datasheet
  std::optional<Sourced<double>>
      measured_bandwidth_bytes_per_second;                   // whole device, a record or publication behind it
  std::optional<Sourced<double>> bandwidth_bytes_per_cycle;  // per unit for smem, register; whole device for l2
  LevelCounters counters;

  std::string name() const { return to_string(id); }
};

// Units of one partition of the L2 that a launch fills together.
struct UnitGroup {
  std::int64_t units = 0;
  int partition = 0;
};

inline constexpr std::int64_t most_units = 100'000;  // of a GPU

struct HardwareProfile {
  std::string id, name, vendor, architecture, file;
  std::string compute_capability;              // "9.0"; AMD: ISA name
  std::string chip;                            // CUPTI chip name, e.g. "GH100"; empty when not NVIDIA
  std::map<std::string, std::string> sources;  // id -> what it is

  Sourced<std::int64_t> units;               // SMs or CUs
  std::string unit_name;                     // "SM" or "CU"
  std::optional<Sourced<double>> boost_hz;   // clock behind the vector (fp32) rates
  std::optional<Sourced<double>> tensor_hz;  // clock behind the datasheet's tensor rates; boost when absent
  std::optional<Sourced<std::int64_t>> warp_size, schedulers_per_unit, max_warps_per_unit, max_blocks_per_unit,
      max_threads_per_block, registers_per_unit, max_registers_per_thread, register_allocation_unit;
  std::optional<Sourced<std::int64_t>> sector_bytes, line_bytes, l2_partitions, l2_slices,
      l2_capacity_slices,                                    // that have the L2's stated capacity; absent: l2_slices
      l2_ways, l2_dirty_ways;                                // lines of a set; of them, those that may be unwritten
  std::optional<Sourced<std::int64_t>> l2_caches,            // that share no line; the L2's capacity is of all together
      l2_dealt_blocks;                                       // consecutive blocks that go to one of them
  std::optional<Sourced<std::int64_t>> llc_ways;             // lines of a set of the last-level cache
  std::optional<Sourced<std::vector<UnitGroup>>> l2_groups;  // in the order in which a launch fills them

  std::map<Format, Sourced<double>>
      tensor_flop_per_cycle;  // per unit, dense, fp32 (or int32) accumulate; multiply-add = 2
  std::map<std::string, std::map<Format, Sourced<double>>>
      instruction_flop_per_cycle;                               // per unit: limit of an instruction path ("mma.sync")
  std::map<Format, Sourced<double>> datasheet_flop_per_second;  // dense datasheet rate, to check the row above
  std::optional<Sourced<double>> fp32_fma_per_cycle, exp2_per_cycle;  // per unit: lanes of FMA, MUFU.EX2
  std::optional<Sourced<double>> datasheet_fp32_flop_per_second;
  std::optional<Sourced<double>> board_watts, launch_seconds;

  std::vector<MemoryLevel> levels;  // outermost first
  std::map<std::string, Counter>
      work_counters;  // "tensor_flop.fp16", "xu", "ffma", "fadd", "fmul", "instructions", "cycles", ...
  std::optional<MeasuredRates> measured;  // microbenchmarks' results, where somebody ran them

  const MemoryLevel* level(LevelId id) const;  // nullptr when the profile has no such level
};

// Reads one profile. Throws InputError with every finding.
HardwareProfile load_profile(const std::filesystem::path& file);

// Finds `id_or_file` among the shipped profiles (directory `hardware`): by id in any case, or by the part of one id
// before an '_' when that is unique ("h200" for h200_sxm). With a '/' or ending in ".yaml" it is a path.
// Throws InputError with a suggestion.
HardwareProfile find_profile(const std::string& id_or_file, const std::filesystem::path& hardware_directory);

// All shipped profiles, sorted by id.
std::vector<HardwareProfile> list_profiles(const std::filesystem::path& hardware_directory);

// Leaves those profiles whose names share the most words with the name that a driver reports ("NVIDIA A100-PCIE-40GB"):
// boards with one chip differ in little else.
void keep_best_named(std::vector<HardwareProfile>& profiles, const std::string& device);

// One finding of `hardware check`; `ok` false makes the command exit 1.
struct CheckFinding {
  std::string profile, rule, message;
  bool ok = true;
};

// Cross-field rules: units x clock x FLOP/clk against the datasheet within 1 %, bandwidth grows inwards, per-block
// shared memory fits the unit, every source id is declared and used, ...
std::vector<CheckFinding> check_profile(const HardwareProfile& profile);

}  // namespace tilescope
