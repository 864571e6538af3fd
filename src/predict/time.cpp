// Time of an island: bytes and operations over each resource's rate; the slowest is the prediction. A lower bound in
// spirit: nothing is serialised, no latency, no tail.
#include <algorithm>

#include "predict/island.h"

namespace tilescope {
namespace {

constexpr double unknown = -1;

double bandwidth(const MemoryLevel* level) {
  if (!level) return unknown;
  if (level->measured_bandwidth_bytes_per_second) return level->measured_bandwidth_bytes_per_second->value;
  if (level->bandwidth_bytes_per_second) return level->bandwidth_bytes_per_second->value;
  return unknown;
}

double per_unit_rate(const HardwareProfile& hardware, const std::optional<Sourced<double>>& per_cycle) {
  if (!per_cycle || !hardware.boost_hz) return unknown;
  return per_cycle->value * static_cast<double>(hardware.units.value) * hardware.boost_hz->value;
}

// L2: bytes per second, or bytes per clock of the whole device at the boost clock.
double l2_bandwidth(const HardwareProfile& hardware) {
  const MemoryLevel* l2 = hardware.level("l2");
  const double stated = bandwidth(l2);
  if (stated > 0 || !l2 || !l2->bandwidth_bytes_per_cycle || !hardware.boost_hz) return stated;
  return l2->bandwidth_bytes_per_cycle->value * hardware.boost_hz->value;
}

double moved(const IslandPrediction& island, Boundary boundary) {
  const auto& both = island.traffic[static_cast<std::size_t>(boundary)];
  return static_cast<double>(both[0]) + static_cast<double>(both[1]);
}

// Rates are per second for the whole device; a product with an unknown factor is unknown.
double over(double amount, double rate) { return amount == 0 ? 0 : rate > 0 ? amount / rate : unknown; }

double tensor_rate(const BoundIsland& bound, Format format) {
  const HardwareProfile& hardware = bound.hardware;
  const auto clock = hardware.tensor_hz ? hardware.tensor_hz : hardware.boost_hz;
  const auto full = hardware.tensor_flop_per_cycle.find(format);
  if (full == hardware.tensor_flop_per_cycle.end() || !clock) return unknown;
  double per_cycle = full->second.value;
  if (const auto path = hardware.instruction_flop_per_cycle.find(bound.how.tensor_path); path != hardware.instruction_flop_per_cycle.end())
    if (const auto limit = path->second.find(format); limit != path->second.end()) per_cycle = limit->second.value;
  return per_cycle * static_cast<double>(hardware.units.value) * clock->value;
}

// Products one after the other, each at the rate of the format it computes in.
double tensor_seconds(const BoundIsland& bound, const Work& work) {
  double seconds = 0;
  for (std::size_t i = 0; i < format_count; ++i) {
    const double part = over(static_cast<double>(work.tensor_flop_in[i]), tensor_rate(bound, static_cast<Format>(static_cast<int>(i))));
    if (part < 0) return unknown;
    seconds += part;
  }
  return seconds;
}

}  // namespace

void add_time(const BoundIsland& bound, Prediction& out) {
  IslandPrediction& island = out.islands[static_cast<std::size_t>(bound.number)];
  const HardwareProfile& hardware = bound.hardware;
  const MemoryLevel* smem = hardware.level("smem");
  const auto pipes = [&](std::initializer_list<Pipe> names) {
    double sum = 0;
    for (const Pipe pipe : names) sum += static_cast<double>(island.work.pipes[static_cast<std::size_t>(pipe)]);
    return sum;
  };
  std::array<double, resource_count> seconds{};
  seconds[0] = over(moved(island, Boundary::hbm), bandwidth(hardware.level("hbm")));
  seconds[1] = over(moved(island, Boundary::l2), l2_bandwidth(hardware));
  seconds[2] = over(moved(island, Boundary::smem), smem ? per_unit_rate(hardware, smem->bandwidth_bytes_per_cycle) : unknown);
  seconds[3] = tensor_seconds(bound, island.work);
  seconds[4] = over(pipes({Pipe::xu}), per_unit_rate(hardware, hardware.exp2_per_cycle));
  seconds[5] = over(pipes({Pipe::ffma, Pipe::fadd, Pipe::fmul}), per_unit_rate(hardware, hardware.fp32_fma_per_cycle));
  const auto slowest = std::max_element(seconds.begin(), seconds.end());
  island.resource_seconds = seconds;
  island.seconds = std::max(0.0, *slowest);
  island.bound_by = static_cast<Resource>(slowest - seconds.begin());
  out.time.total += island.seconds;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    double& total = out.time.seconds[i];
    total = total < 0 || seconds[i] < 0 ? unknown : total + seconds[i];
  }
}

}  // namespace tilescope
