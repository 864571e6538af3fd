#include "predict/time/resources.h"

#include "predict/l2/memory_seconds.h"
#include "predict/sm/rates.h"

namespace tilescope {
namespace {

double per_unit_rate(const HardwareProfile& hardware, const std::optional<Sourced<double>>& per_cycle) {
  if (!per_cycle || !hardware.boost_hz) return unknown_seconds;
  return per_cycle->value * static_cast<double>(hardware.units.value) * hardware.boost_hz->value;
}

double tensor_rate(const BoundIsland& bound, Format format) {
  const auto clock = bound.hardware.tensor_hz ? bound.hardware.tensor_hz : bound.hardware.boost_hz;
  const double per_clock = tensor_flop_per_clock(bound.hardware, bound.how, format);
  return per_clock > 0 && clock ? per_clock * static_cast<double>(bound.hardware.units.value) * clock->value
                                : unknown_seconds;
}

// Products one after the other, each at the rate of the format it computes in.
double tensor_seconds(const BoundIsland& bound, const Work& work) {
  double seconds = 0;
  for (std::size_t i = 0; i < format_count; ++i) {
    if (work.tensor_flop_in[i] == 0) continue;
    const double part = seconds_at(static_cast<double>(work.tensor_flop_in[i]),
                                   tensor_rate(bound, static_cast<Format>(static_cast<int>(i))));
    if (part < 0) return unknown_seconds;
    seconds += part;
  }
  return seconds;
}

}  // namespace

std::array<double, resource_count> resource_seconds(const BoundIsland& bound, const LaunchCounts& counts,
                                                    const MemoryTime& memory) {
  const HardwareProfile& hardware = bound.hardware;
  const MemoryLevel* smem = hardware.level(LevelId::smem);
  const double smem_rate = smem ? per_unit_rate(hardware, smem->bandwidth_bytes_per_cycle) : unknown_seconds;
  const auto pipes = [&](std::initializer_list<Pipe> names) {
    double sum = 0;
    for (const Pipe pipe : names) sum += static_cast<double>(counts.work.pipes[static_cast<std::size_t>(pipe)]);
    return sum;
  };
  std::array<double, resource_count> seconds{};
  const auto set = [&](Resource resource, double value) { seconds[static_cast<std::size_t>(resource)] = value; };
  set(Resource::hbm, memory.hbm);
  set(Resource::llc, memory.last_level);
  set(Resource::l2, memory.l2);
  set(Resource::smem, seconds_at(moved(counts, Boundary::smem), smem_rate));
  set(Resource::tensor, tensor_seconds(bound, counts.work));
  set(Resource::xu, seconds_at(pipes({Pipe::xu}), per_unit_rate(hardware, hardware.exp2_per_cycle)));
  set(Resource::fma,
      seconds_at(pipes({Pipe::ffma, Pipe::fadd, Pipe::fmul}), per_unit_rate(hardware, hardware.fp32_fma_per_cycle)));
  return seconds;
}

}  // namespace tilescope
