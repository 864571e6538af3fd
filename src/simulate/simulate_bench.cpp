// How long a simulated SM takes for the steps of a kernel's machine code.
#include <benchmark/benchmark.h>

#include <string>

#include "hardware/profile.h"
#include "simulate/step_programs.h"

namespace tilescope {
namespace {

// Two resident blocks of fused_mma, head_dim 128, from the first pass until the state of the SM repeats.
void steps(benchmark::State& state, const std::string& instance, int warps) {
  const std::string root = TILESCOPE_SOURCE_DIR;
  const HardwareProfile hardware = find_profile("h200_sxm", root + "/hardware");
  const StepPrograms programs(root + "/kernels/fused_mma/steps.zst");
  StepQuestion question{
      .symbol = "_ZN9tilescope7kernels9fused_mma7forwardI6__halfLi128E" + instance + "EEvNS1_13ForwardParamsE",
      .warps = warps,
      .resident = 2,
      .copies_from = CopySource::l2};
  if (!programs.has(question.symbol)) return state.SkipWithError("no such instance");
  for (auto _ : state) {
    ++question.local_missed;  // of no local memory: the same steps, asked for as if they were others
    benchmark::DoNotOptimize(programs.clocks(question, hardware));
  }
}

BENCHMARK_CAPTURE(steps, 4_warps, "Li128ELi64ELi4ELb0ELi2ELb1E", 4)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(steps, 8_warps, "Li128ELi64ELi8ELb1ELi1ELb0E", 8)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tilescope
