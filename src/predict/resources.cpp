#include "predict/resources.h"

#include "predict/l2/memory_seconds.h"

namespace tilescope {
namespace {

double per_unit_rate(const HardwareProfile& hardware, const std::optional<Sourced<double>>& per_cycle) {
  if (!per_cycle || !hardware.boost_hz) return unknown_seconds;
  return per_cycle->value * static_cast<double>(hardware.units.value) * hardware.boost_hz->value;
}

// Products one after the other, each at the rate of the format it computes in.
double tensor_seconds(const BoundIsland& bound, const Work& work) {
  const auto clock = bound.hardware.tensor_hz ? bound.hardware.tensor_hz : bound.hardware.boost_hz;
  double seconds = 0;
  for_each_format(work, [&](Format format, double flop) {
    const double per_clock = tensor_flop_per_clock(bound.hardware, bound.how, format),
                 rate = per_clock * static_cast<double>(bound.hardware.units.value) * (clock ? clock->value : 0);
    seconds = per_clock > 0 && rate > 0 && seconds >= 0 ? seconds + flop / rate : unknown_seconds;
  });
  return seconds;
}

}  // namespace

std::array<double, resource_count> resource_seconds(const LaunchAtSm& launch) {
  const HardwareProfile& hardware = launch.bound.hardware;
  const Work& work = launch.counts.work;
  const MemoryLevel* smem = hardware.level(LevelId::smem);
  const double smem_rate = smem ? per_unit_rate(hardware, smem->bandwidth_bytes_per_cycle) : unknown_seconds;
  std::array<double, resource_count> seconds{};
  const auto set = [&](Resource resource, double value) { seconds[static_cast<std::size_t>(resource)] = value; };
  const auto set_pipes = [&](Resource resource, std::initializer_list<Pipe> pipes, const auto& per_cycle) {
    set(resource, seconds_at(operations(work.pipes, pipes), per_unit_rate(hardware, per_cycle)));
  };
  set(Resource::hbm, launch.memory.hbm);
  set(Resource::llc, launch.memory.last_level);
  set(Resource::l2, launch.memory.l2);
  set(Resource::smem, seconds_at(moved(launch.counts, Boundary::smem), smem_rate));
  set(Resource::tensor, tensor_seconds(launch.bound, work));
  set_pipes(Resource::xu, {Pipe::xu}, hardware.exp2_per_cycle);
  set_pipes(Resource::fma, {Pipe::ffma, Pipe::fadd, Pipe::fmul}, hardware.fp32_fma_per_cycle);
  return seconds;
}

}  // namespace tilescope
