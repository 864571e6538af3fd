// The rates and latencies of one multiprocessor that its time model needs, from one place: what microbenchmarks
// measured on the GPU, and the profile's datasheet rates where both say the same.
#pragma once

#include <optional>

#include "hardware/profile.h"
#include "kernel/descriptor/descriptor.h"

namespace tilescope {

// Each 0 where nobody measured it.
class SmRates {
  const MeasuredRates& m_;
  double hz_;  // the clock at which latencies in s were measured

  static double of(const MeasuredRates::Value& value) { return value ? value->value : 0; }
  double clocks(const MeasuredRates::Value& seconds) const { return of(seconds) * hz_; }
  static double of_fp16(const MeasuredRates::ByFormat& values);

 public:
  explicit SmRates(const HardwareProfile& hardware);

  // Thread operations a clock.
  double xu = of(m_.pipes.ex2), fma = of(m_.pipes.ffma), alu = of(m_.pipes.max);
  double conversion = of(m_.pipes.cvt_f16x2);

  // Clocks until a result can be used.
  double ex2_chain = of(m_.chains.ex2), shuffle_chain = of(m_.chains.shuffle), smem_chain = of(m_.smem.latency);
  double mma_chain = of_fp16(m_.tensor.mma_latency), mma_k8_chain = of(m_.tensor.mma_k8_latency);

  double block_barrier(std::int64_t warps) const;  // bar.sync

  // Bytes a clock of a unit: from shared memory and the L2; of what threads store; of what a unit adds to memory while
  // all do. l2_few_lines: of all units, lone sectors of few lines.
  double smem = 0, l2 = of(m_.l2.read_one_unit);
  double local_store = of(m_.local.store), reductions = 0;
  double l2_few_lines = of(m_.l2.read_few_lines);

  // Clocks of a load: that hits in the L2, by the partition that has the line, and where partitions are alike; from
  // memory. copy_: from the issue of a tile's copy to its arrival.
  double l2_latency = (of(m_.l2.latency_near) + of(m_.l2.latency_far)) / 2;
  double l2_near = m_.l2.latency_near ? of(m_.l2.latency_near) : l2_latency;
  double l2_far = m_.l2.latency_far ? of(m_.l2.latency_far) : l2_latency;
  double hbm = clocks(m_.hbm.latency);
  double copy_l2 = clocks(m_.tma.latency_l2);
  double copy_hbm = m_.tma.latency_hbm ? clocks(m_.tma.latency_hbm) : hbm;
  double far_memory() const { return hbm + l2_far - l2_latency; }  // loads of many lines from memory

  // Clocks from the end of a block to the start of the next; block_beside: where a unit has room for many.
  double block_start = clocks(m_.launch.block), block_beside = clocks(m_.launch.block_beside);

  double oldest_first = of(m_.beside.oldest_first);
};

// Whether the profile lacks a rate without which an island's time on a multiprocessor is not known.
bool missing_sm_rate(const HardwareProfile& hardware);

// Products of mma.sync in m16n8k8.
bool halved_depth(const IslandImplementation& how);

// FLOP a clock of one SM on the launch's instruction path; < 0: the profile does not say.
double tensor_flop_per_clock(const HardwareProfile& hardware, const IslandImplementation& how, Format format);

// The clock that tensor cores reach: measured, else of the datasheet.
std::optional<Sourced<double>> tensor_clock(const HardwareProfile& hardware);

// The highest clock of a launch: that of tensor cores where it uses them. 0: not known.
double highest_clock(const HardwareProfile& hardware, const IslandImplementation& how);

}  // namespace tilescope
