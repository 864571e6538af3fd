// The answer to one point: terms, their sums, footprint and time. Totals are only ever sums of terms.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/level.h"
#include "hardware/profile.h"
#include "predict/point/point.h"

namespace tilescope {

using Boundary = LevelId;  // a boundary is named after the level that serves it
// Whether its bytes are those that no L2 holds.
constexpr bool beyond_l2(Boundary boundary) { return boundary < Boundary::l2; }
// Bytes that each level serves (read) and takes (write).
class LevelBytes {
 public:
  std::array<std::int64_t, 2>& operator[](LevelId level) { return bytes_[static_cast<std::size_t>(level)]; }
  const std::array<std::int64_t, 2>& operator[](LevelId level) const { return bytes_[static_cast<std::size_t>(level)]; }
  std::int64_t both(LevelId level) const { return (*this)[level][0] + (*this)[level][1]; }
  friend bool operator==(const LevelBytes&, const LevelBytes&) = default;

 private:
  std::array<std::array<std::int64_t, 2>, level_count> bytes_{};
};

// What of a prediction is wanted: all of it; all but what a faster unit would save; all but times; bytes at the L2 and
// beyond, and what arrays take; the same without those at the L2.
enum class Wanted { all, times, counts, memory, beyond_l2 };

enum class Direction { read, write };
template <>
struct EnumTable<Direction> {
  static constexpr std::array rows{NamedKind{Direction::read, "read"}, NamedKind{Direction::write, "write"}};
};

// What moves the bytes of a term.
enum class Cause {
  tile,           // the array's tile crosses the boundary as the loops step
  operand,        // tensor-core or FMA operands fetched from shared memory
  fill,           // shared memory filled from L2
  scales,         // of operands in a quantised format, read by threads
  conversion,     // a tile that threads convert and write back to shared memory before products fetch it
  one_scale,      // the one scale of a whole array: each block reads it, the launch that makes the array stores it
  transpose,      // a tile read and written back turned over, once as it arrives
  staging,        // output passes through shared memory to be stored in whole lines
  mma,            // register operands and accumulators of matrix instructions
  fragments,      // operand fragments written to registers by shared-memory loads
  tensor_memory,  // threads' loads and stores of tensor memory
  mask,           // a block's row of a block mask
  spill,          // what threads keep in local memory for want of registers
  missed,         // tiles that had been in the L2 and left it before they were used again
  pointwise,      // register operands of FMA, add, multiply and exponential instructions
};

// One array x one boundary x one direction, with the loops that cause it. Register terms of instructions have no array.
struct Term {
  int island = 0;
  Boundary boundary = Boundary::hbm;
  Direction direction = Direction::read;
  Cause cause = Cause::tile;
  int array = -1;           // ArrayId, -1: none
  int last_loop = -1;       // innermost loop that moves the tile, -1: none
  bool fits_cache = false;  // beyond the L2: re-reads are served by a cache inside
  bool bulk = false;        // smem: moved by bulk copies, not by threads or matrix instructions
  std::int64_t bytes = 0;
};

struct Work {
  std::int64_t tensor_flop = 0;                             // executed by whole tiles on tensor cores, multiply-add = 2
  std::array<std::int64_t, format_count> tensor_flop_in{};  // the same by the format that the instructions compute in
  std::int64_t model_flop =
      0;  // the field's convention: 2 * visible pairs * summed extent of every contraction, each counted once
  std::int64_t clipped_flop = 0;  // matmul FLOP of visited tiles, partial tiles clipped to the arrays
  std::int64_t exp = 0;           // exponentials of the schedule, clipped tiles: one a score, one a row and step
  std::array<std::int64_t, pipe_count> pipes{};  // thread operations executed, by Pipe
  std::array<std::int64_t, pipe_count> of_outputs{},
      of_threads{},  // of these: by elements of results; by threads and steps
      outside{};     // of these, where the machine code is known: before and after a block's steps
  // Instructions of warps, and those of the ALU pipe, where the machine code of all products is known; else 0.
  std::int64_t instructions = 0, alu_instructions = 0;
  std::int64_t fma_flop() const;  // 2 ffma + fadd + fmul
};

// Of counts by Pipe, those of some pipes together.
inline double operations(const std::array<std::int64_t, pipe_count>& counts, std::initializer_list<Pipe> pipes) {
  double sum = 0;
  for (const Pipe pipe : pipes) sum += static_cast<double>(counts[static_cast<std::size_t>(pipe)]);
  return sum;
}

// Calls visit(format, FLOP) for each format that tensor cores compute in.
template <class Visit>
void for_each_format(const Work& work, const Visit& visit) {
  for (std::size_t i = 0; i < format_count; ++i)
    if (work.tensor_flop_in[i] > 0)
      visit(static_cast<Format>(static_cast<int>(i)), static_cast<double>(work.tensor_flop_in[i]));
}

inline constexpr int every_island = -1;
struct FootprintRow {
  Boundary level = Boundary::smem;  // smem, reg: of a thread block; hbm: of the whole GPU
  int island = 0;                   // every_island: all of them together
  std::int64_t bytes = 0;
  double capacity_bytes = 0;  // 0: the profile does not say
  const char* largest = "";   // the array or accumulator that takes most
  // Registers of a built kernel, which runs whatever is counted here: "spills" (the rest lies in memory) or "built".
  const char* compiled = "";
  bool within() const { return capacity_bytes == 0 || static_cast<double>(bytes) <= capacity_bytes; }
  bool fits() const { return compiled[0] != '\0' || within(); }
};

enum class Resource { hbm, llc, l2, smem, tensor, xu, fma };
template <>
struct EnumTable<Resource> {
  static constexpr std::array rows{NamedKind{Resource::hbm, "hbm"},       NamedKind{Resource::llc, "llc"},
                                   NamedKind{Resource::l2, "l2"},         NamedKind{Resource::smem, "smem"},
                                   NamedKind{Resource::tensor, "tensor"}, NamedKind{Resource::xu, "xu"},
                                   NamedKind{Resource::fma, "fma"}};
};
inline constexpr int resource_count = static_cast<int>(kind_count<Resource>);
// Memories that one device has one of: their time does not depend on how many multiprocessors have a block.
constexpr bool of_whole_device(Resource resource) { return resource <= Resource::l2; }

// Units of a multiprocessor that a step keeps busy. alu: maxima, conversions, addresses; issue: the schedulers.
enum class SmUnit { tensor, smem, xu, fma, alu, issue };
inline constexpr int sm_unit_count = 6;

// What a sensitivity makes faster: a rate; every wait of a multiprocessor (latency); the clock by a higher power limit.
enum class Lever { hbm, l2, smem, tensor, xu, fma, alu, latency, power };
template <>
struct EnumTable<Lever> {
  static constexpr std::array rows{
      NamedKind{Lever::hbm, "hbm"},       NamedKind{Lever::l2, "l2"},           NamedKind{Lever::smem, "smem"},
      NamedKind{Lever::tensor, "tensor"}, NamedKind{Lever::xu, "xu"},           NamedKind{Lever::fma, "fma"},
      NamedKind{Lever::alu, "alu"},       NamedKind{Lever::latency, "latency"}, NamedKind{Lever::power, "power"}};
};
inline constexpr int lever_count = static_cast<int>(kind_count<Lever>);

// What takes energy: bytes that a level moves, then operations.
enum class EnergyItem { hbm, l2, additions, smem, tensor, multiply_adds, exponentials, others };
struct EnergyItemRow {
  EnergyItem value;
  std::string_view name, unit;
  bool transfer;
};
template <>
struct EnumTable<EnergyItem> {
  static constexpr std::array rows{EnergyItemRow{EnergyItem::hbm, "hbm", "B", true},
                                   EnergyItemRow{EnergyItem::l2, "l2", "B", true},
                                   EnergyItemRow{EnergyItem::additions, "l2 additions", "B", true},
                                   EnergyItemRow{EnergyItem::smem, "smem", "B", true},
                                   EnergyItemRow{EnergyItem::tensor, "tensor", "FLOP", false},
                                   EnergyItemRow{EnergyItem::multiply_adds, "multiply-adds", "OP", false},
                                   EnergyItemRow{EnergyItem::exponentials, "exponentials", "OP", false},
                                   EnergyItemRow{EnergyItem::others, "other instructions", "OP", false}};
};
inline constexpr int energy_item_count = static_cast<int>(kind_count<EnergyItem>);
// Energy above that of a busy GPU, at the clocks that energies were measured at.
struct ItemEnergy {
  double amount = 0, joules = 0;
};
using EnergyByItem = std::array<ItemEnergy, energy_item_count>;

struct TimePrediction {
  std::array<double, resource_count> seconds{};  // by Resource, summed over islands; < 0: the profile lacks the rate
  bool spills = false;                           // the compiler keeps registers in memory
  bool spills_traffic = false, spills_time = false;  // of these, whether bytes at each level and the time know of them
  bool modelled =
      false;  // by multiprocessor clocks, placement, launch and clock; false: the slowest resource, a lower bound
  double total = 0;        // run after run without a pause, launches queued ahead of the GPU, at `clock_hz`
  double cold = 0;         // one run alone, after a pause, as two events around it show
  double cold_launch = 0;  // of `cold`: outside of kernels
  double cold_hz = 0;      // its clock, but for launches whose highest is lower
  double sm_cycles = 0;    // clocks from the first block's start to the last one's end, summed over islands
  double busy_cycles = 0;  // clocks that a multiprocessor holds blocks, mean over them; 0: not modelled
  double launch = 0;       // of `total`: between kernels
  double host = 0;      // that a host takes to launch the kernels; not in `total`: they are queued ahead; 0: not known
  double clock_hz = 0;  // under the power limit, run after run
  double watts = 0;     // 0: the profile lacks energies
  EnergyByItem energy{};  // by EnergyItem, of one run; all 0: the profile lacks energies
  std::array<double, lever_count>
      gain{};  // part of `total` saved were this 10 % faster; only where blocks were placed one by one
  Resource bound_by = Resource::hbm;
};

// Bytes of local memory (spilled registers) of all threads: stores, which all go on to the L2, and loads.
struct LocalTraffic {
  std::int64_t stored = 0, loaded = 0, missed = 0;  // missed: of the loads, what L1 does not hold
};

struct IslandPrediction {
  Work work;
  LocalTraffic local;
  LevelBytes traffic{};
  std::int64_t operand_bytes = 0;           // smem reads of matrix operands, by products or to transpose them
  std::array<std::int64_t, 2> bulk_smem{};  // [direction]: the part of smem traffic that bulk copies move
  std::int64_t blocks = 0;                  // thread blocks in the grid
  std::int64_t blocks_per_unit = 0;
  bool l2_walked = false;  // its blocks went through the cache one by one; else the closed form answered
  std::array<double, resource_count> resource_seconds{};  // < 0: the profile lacks the rate
  double sm_clocks = 0, busy_clocks = 0;                  // see TimePrediction; 0: not modelled
  std::array<double, sm_unit_count> unit_clocks{};  // by SmUnit: clocks that one SM would be busy with the whole launch
  double highest_hz = 0;                            // the clock without a power limit; 0: not modelled
  double seconds = 0;                               // of a run by itself after a pause, without launch
  Resource bound_by = Resource::hbm;                // the busiest resource
};

struct Prediction {
  std::vector<Term> terms;
  std::vector<IslandPrediction> islands;
  Work work;
  LevelBytes traffic{};
  std::int64_t operand_bytes = 0;
  std::array<std::int64_t, 2> bulk_smem{};
  std::int64_t compulsory_bytes = 0;
  std::vector<FootprintRow> footprint;
  bool smem_modelled =
      true;              // false: a kernel multiplies without matrix instructions, where its tiles lie is not modelled
  bool runnable = true;  // the GPU states a tensor rate for the dtype the kernel computes in
  bool feasible = true;  // runnable and every footprint fits
  TimePrediction time;
};

}  // namespace tilescope
