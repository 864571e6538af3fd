// The rates and latencies of one multiprocessor that its time model needs, from one place: what microbenchmarks
// measured on the GPU, and the profile's datasheet rates where both say the same.
#pragma once

#include <optional>

#include "hardware/profile.h"
#include "kernel/descriptor/descriptor.h"

namespace tilescope {

struct SmRates {
  double xu = 0, fma = 0, alu = 0, conversion = 0, shuffle = 0;           // thread operations a clock
  double smem = 0, l2 = 0;                                                // bytes a clock
  double ex2_chain = 0, fma_chain = 0, max_chain = 0, shuffle_chain = 0;  // clocks until a result can be used
  double mma_interval = 0;                             // clocks of a scheduler between mma.sync of 16-bit operands
  double mma_chain = 0, mma_k8_chain = 0;              // the other one of m16n8k8; 0: not measured
  double wgmma_wait = 0, smem_chain = 0;               // wgmma_wait: clocks a wait takes beyond the products' own
  double mbarrier = 0, mbarrier_passed = 0, turn = 0;  // clocks
  double l2_latency = 0;                               // clocks of a load that hits, partitions alike
  double hbm = 0, copy_hbm = 0;                        // clocks of a load; from issue of a tile's copy to its arrival
  double copy_l2 = 0, cp_async = 0, hbm_unit = 0;      // clocks until a tile from L2 is there; B/clk of threads' copies
                                                       // into one unit: from L2, from memory
  double local_store = 0;                              // bytes a clock that threads of a unit store
  double reductions = 0;                               // bytes a clock that a unit adds to memory while all do
  double local_latency = 0, local_latency_l1 = 0;      // clocks
  double l2_near = 0, l2_far = 0;                      // the same by the partition that has the line
  double l2_few_lines = 0;                             // B/clk of lone sectors of few lines
  double block_start = 0, block_beside = 0;            // clocks; block_beside: where a unit has room for many
  // A clock of the pipe alone holds up mma.sync this long, or takes that much longer beside wgmma.
  struct Beside {
    double xu = 0, fma = 0, alu = 0;
  } mma, wgmma;
  double wgmma_held = 0;    // a clock of fp32 arithmetic alone holds up the products of other warps this long
  double oldest_first = 0;  // blocks of a unit share it evenly (0), or the oldest is served first everywhere (1)

  double block_barrier(std::int64_t warps) const;                  // clocks of bar.sync
  double far_memory() const { return hbm + l2_far - l2_latency; }  // clocks of loads of many lines from memory

  const MeasuredRates* measured = nullptr;
};

// The first rate without which an island's time on a multiprocessor is not known ("measured.pipes.lop3"); nullptr:
// none.
const char* missing_sm_rate(const HardwareProfile& hardware);

SmRates sm_rates(const HardwareProfile& hardware);

// Products of mma.sync in m16n8k8.
bool halved_depth(const IslandImplementation& how);

// FLOP a clock of one SM on the launch's instruction path; < 0: the profile does not say.
double tensor_flop_per_clock(const HardwareProfile& hardware, const IslandImplementation& how, Format format);

// The clock that tensor cores reach: measured, else of the datasheet.
std::optional<Sourced<double>> tensor_clock(const HardwareProfile& hardware);

// The highest clock of a launch: that of tensor cores where it uses them. 0: not known.
double highest_clock(const HardwareProfile& hardware, const IslandImplementation& how);

}  // namespace tilescope
