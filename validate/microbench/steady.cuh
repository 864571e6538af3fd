// Runs a body (see span.cuh) as a steady load: the number of rounds that take about 8 ms, and the SM clock during them.
#pragma once

#include "validate/microbench/load.h"
#include "validate/microbench/memory/span.cuh"

namespace tilescope::validate {

// `operations_per_round`: of one block.
template <class Body>
LoadResult steady_load(const Nvml& nvml, double seconds, const Body& body, Shape shape, double operations_per_round) {
  const RunTime trial = run_timed(body, shape, 64);
  const int rounds = std::max(1, static_cast<int>(64 * 8e-3 * trial.clock_hz / trial.cycles));
  const int warps = shape.threads / 32;
  const DeviceBuffer memory(sizeof(Span) * static_cast<std::size_t>(shape.blocks * warps) + 16);
  Span* spans = static_cast<Span*>(memory.get());
  unsigned* sink = reinterpret_cast<unsigned*>(spans + shape.blocks * warps);
  const auto clock = [&] {
    Span span{};
    check_cuda(cudaMemcpy(&span, spans, sizeof span, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return static_cast<double>(span.end - span.begin) / (static_cast<double>(span.end_ns - span.begin_ns) * 1e-9);
  };
  return run_load(
      nvml, seconds, operations_per_round * rounds * shape.blocks,
      [&] { launch_timed(body, shape, rounds, spans, sink); }, clock);
}

}  // namespace tilescope::validate
