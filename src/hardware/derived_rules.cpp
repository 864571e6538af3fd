#include "hardware/derived_rules.h"

#include <cstdlib>
#include <map>

namespace tilescope {
namespace {

using Profile = HardwareProfile;

double value_of(const std::optional<Sourced<double>>& value) { return value ? value->value : 0; }
const MemoryLevel& level_of(const Profile& p, LevelId id) {
  static const MemoryLevel none;
  const MemoryLevel* const level = p.level(id);
  return level == nullptr ? none : *level;
}

double as_it_is_there(const Profile&) { return 1; }
double boost(const Profile& p) { return value_of(p.boost_hz); }
double boost_period(const Profile& p) { return p.boost_hz ? 1 / p.boost_hz->value : 0; }
double tensor_hz(const Profile& p) { return p.tensor_hz ? p.tensor_hz->value : boost(p); }
double tensor_most(const Profile& p) { return p.measured ? value_of(p.measured->clock.tensor_most) : 0; }
double units_and_clock(const Profile& p) { return static_cast<double>(p.units.value) * boost(p); }
double dram(const Profile& p) { return value_of(level_of(p, LevelId::hbm).bandwidth_bytes_per_second); }
double l2_read(const Profile& p) { return p.measured ? value_of(p.measured->l2.read_private) : 0; }
double l2_bytes(const Profile& p) { return value_of(level_of(p, LevelId::l2).capacity_bytes); }
double l2_part(const Profile& p) {
  return l2_bytes(p) / (p.l2_partitions ? static_cast<double>(p.l2_partitions->value) : 1);
}
double board(const Profile& p) { return value_of(p.board_watts); }
double fp32_lanes(const Profile& p) { return value_of(p.fp32_fma_per_cycle); }
double exp2_lanes(const Profile& p) { return value_of(p.exp2_per_cycle); }
double half_rate(const Profile&) { return 64; }
double quarter_rate(const Profile&) { return 32; }
double eighth_rate(const Profile&) { return 16; }
double issue_lanes(const Profile& p) {
  return p.schedulers_per_unit && p.warp_size ? static_cast<double>(p.schedulers_per_unit->value * p.warp_size->value)
                                              : 0;
}
double smem_rate(const Profile& p) { return value_of(level_of(p, LevelId::smem).bandwidth_bytes_per_cycle); }

// L1 and shared memory of an SM (cuda_occupancy.h).
double l1_and_shared(const Profile& p) {
  static const std::map<double, double> kib{{7.0, 128}, {8.0, 192},  {8.6, 128},  {8.9, 128},
                                            {9.0, 256}, {10.0, 256}, {10.3, 256}, {12.0, 128}};
  const auto found = kib.find(capability_of(p));
  return found == kib.end() ? 0 : found->second * 1024;
}

constexpr const char* of_donor = "as on the nearest measured GPU";

}  // namespace

double capability_of(const HardwareProfile& profile) {
  return profile.vendor == "NVIDIA" ? std::strtod(profile.compute_capability.c_str(), nullptr) : 0;
}

double published_l2_rate(const HardwareProfile& profile) {
  const MemoryLevel& l2 = level_of(profile, LevelId::l2);
  if (l2.measured_bandwidth_bytes_per_second) return l2.measured_bandwidth_bytes_per_second->value;
  if (l2.bandwidth_bytes_per_second) return l2.bandwidth_bytes_per_second->value;
  return value_of(l2.bandwidth_bytes_per_cycle) * boost(profile);
}

bool RateRule::serves(const HardwareProfile& profile) const {
  const double capability = capability_of(profile);
  return capability > 0 && capability >= least_capability && capability <= most_capability;
}

const std::vector<RateRule>& rate_rules() {
  using enum RuleDonors;
  static const std::vector<RateRule> rules{
      // Memory
      {"datasheet's DRAM bandwidth x measured / datasheet of the nearest measured GPU",
       dram,
       measured,
       {"hbm.read", "hbm.write", "hbm.copy", "hbm.read_off_line"}},
      {of_donor,
       as_it_is_there,
       measured,
       {"hbm.latency", "hbm.ramp", "hbm.busy", "hbm.write_wait", "hbm.read_one_unit"}},
      // L2: a measurement of the same chip, else a publication about this GPU, else one about the nearest GPU
      {"as on a measured GPU with the same chip, a clock and SM", units_and_clock, same_chip, {"l2.read_private"}},
      {"published L2 bandwidth", published_l2_rate, none, {"l2.read_private"}},
      {"published L2 bandwidth of the nearest GPU that has one, a clock and SM",
       units_and_clock,
       published,
       {"l2.read_private"},
       0,
       100,
       published_l2_rate},
      {"l2.read_private x its ratio to that on the nearest measured GPU",
       l2_read,
       measured,
       {"l2.read_shared", "l2.write", "l2.write_and_read", "atomics.red_fp32"}},
      {of_donor,
       as_it_is_there,
       measured,
       {"l2.read_one_unit", "l2.read_scattered", "l2.read_few_lines", "l2.latency_near", "l2.latency_far"}},
      {"the nearest measured GPU's, in proportion to the L2's capacity",
       l2_bytes,
       measured,
       {"l2.capacity_private", "l2.again"}},
      {"the nearest measured GPU's, in proportion to the capacity of an L2 partition",
       l2_part,
       measured,
       {"l2.gone", "l2.written"}},
      // A multiprocessor
      {"bandwidth of shared memory (levels.smem)", smem_rate, none, {"smem.store"}},
      {of_donor,
       as_it_is_there,
       measured,
       {"smem.latency", "smem.latency_wide", "smem.ldmatrix", "smem.stmatrix", "smem.cp_async"}},
      {of_donor,
       as_it_is_there,
       measured,
       {"local.store", "local.store_one_warp", "local.latency", "local.latency_l1"}},
      {"L1 and shared memory of the compute capability (cuda_occupancy.h)", l1_and_shared, none, {"local.l1"}},
      {"lanes of the special-function unit (compute.exp2)", exp2_lanes, none, {"pipes.ex2"}},
      {"16 lanes a clock (CUDA programming guide, table of arithmetic throughput)",
       eighth_rate,
       none,
       {"pipes.rcp", "pipes.lg2"}},
      {"fp32 lanes (compute.fp32)", fp32_lanes, none, {"pipes.ffma", "pipes.fadd", "pipes.fmul"}},
      {"64 lanes a clock (CUDA programming guide, table of arithmetic throughput)",
       half_rate,
       none,
       {"pipes.max", "pipes.lop3", "pipes.iadd3"}},
      {"64 results a clock (CUDA programming guide, table of arithmetic throughput)",
       half_rate,
       none,
       {"pipes.cvt_f16x2", "pipes.cvt_bf16x2"},
       8.0},
      {"16 results a clock (CUDA programming guide, table of arithmetic throughput)",
       eighth_rate,
       none,
       {"pipes.cvt_f16x2", "pipes.cvt_bf16x2"},
       0,
       7.5},
      {of_donor, as_it_is_there, measured, {"pipes.cvt_e4m3x2"}, 8.9},
      {of_donor, as_it_is_there, measured, {"pipes.prmt"}},
      {"warp instructions that the schedulers issue (compute.schedulers)", issue_lanes, none, {"pipes.issue"}},
      {"32 lanes a clock (CUDA programming guide, table of arithmetic throughput)",
       quarter_rate,
       none,
       {"pipes.shuffle"}},
      {of_donor,
       as_it_is_there,
       measured,
       {"chains.ffma", "chains.ex2", "chains.max", "chains.shuffle", "chains.ldmatrix", "chains.movmatrix",
        "chains.constant", "chains.operands_read"}},
      {of_donor,
       as_it_is_there,
       measured,
       {"beside.mma_ex2", "beside.mma_ffma", "beside.mma_max", "beside.oldest_first"}},
      {of_donor,
       as_it_is_there,
       measured,
       {"beside.wgmma_ex2", "beside.wgmma_ffma", "beside.wgmma_max", "beside.wgmma_held", "tensor.wgmma_latency",
        "tensor.mma_k8", "tensor.mma_k8_latency"},
       9.0,
       9.0},
      {of_donor,
       as_it_is_there,
       measured,
       {"sync.block_barrier", "sync.named_barrier", "sync.mbarrier", "sync.mbarrier_passed"}},
      {"the nearest measured GPU's, in clocks", boost_period, measured, {"tma.latency_l2"}, 9.0},
      {of_donor, as_it_is_there, measured, {"tma.latency_hbm"}, 9.0},
      // Launches
      {"the nearest measured GPU's, in seconds",
       as_it_is_there,
       measured,
       {"launch.host_interval", "launch.interval", "launch.interval_from_memory", "launch.dependent", "launch.alone"}},
      {"the nearest measured GPU's, in clocks", boost_period, measured, {"launch.block", "launch.block_beside"}},
      // Clock and power: chips are assumed to need the same energy an operation at their own highest clocks
      {"boost clock", boost, none, {"clock.most"}},
      {"datasheet's tensor clock x measured / datasheet of the nearest measured GPU",
       tensor_hz,
       measured,
       {"clock.tensor_most", "clock.mma_most"}},
      {"clock.tensor_most x its ratio to that on the nearest measured GPU",
       tensor_most,
       measured,
       {"clock.tensor_first"},
       9},
      {"as on a measured GPU with the same chip", as_it_is_there, same_chip, {"power.busy"}},
      {"the nearest measured GPU's, in proportion to the board's power", board, measured, {"power.busy"}},
      {"as on the nearest measured GPU, at the highest clock",
       as_it_is_there,
       measured,
       {"power.tensor", "power.mma", "power.hbm", "power.l2", "power.smem", "power.add", "power.ffma", "power.ex2",
        "power.issue", "power.clock_exponent"}},
  };
  return rules;
}

}  // namespace tilescope
