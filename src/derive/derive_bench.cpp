// Benchmark: bound schedules per second, and the time of an enumeration.
#include <benchmark/benchmark.h>

#include "derive/derivation.h"

namespace tilescope {
namespace {

std::string models() { return std::string(TILESCOPE_SOURCE_DIR) + "/models"; }

// FlashAttention-2's traffic, one polynomial an array and direction, as symbols; a different, ragged length each time.
void bound_schedule(benchmark::State& state, const char* mask_name, bool bind) {
  const Schedule schedule = find_schedule("flash2", models());
  const Mask mask = *parse_mask(mask_name);
  const SymbolicSchedule counts = symbolic(schedule, {.masked = mask.masks()});
  std::vector<Polynomial> terms;
  for (const SymbolicTerm& term : counts.terms) terms.push_back(term.values);
  const Program program = compile(counts.symbols, terms);
  const std::vector<std::int64_t> tiles{128, 64, 1};
  Workload workload{4, 32, 8, 4096, 4096, 128, 128};
  std::vector<std::int64_t> inputs, externals, outputs(program.output_count());
  bind_symbols(counts, schedule, workload, mask, tiles, inputs, externals);
  for (auto _ : state) {
    if (bind) {
      workload.q_len = workload.kv_len = 4096 + (workload.q_len + 1) % 1024;
      bind_symbols(counts, schedule, workload, mask, tiles, inputs, externals);
    }
    program.run(inputs, externals, outputs);
    benchmark::DoNotOptimize(outputs.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(bound_schedule, program_alone, "none", false);
BENCHMARK_CAPTURE(bound_schedule, bind_and_run, "none", true);
BENCHMARK_CAPTURE(bound_schedule, bind_and_run_causal, "causal", true);

// Items are nests considered.
void enumeration(benchmark::State& state, const char* diagram_name) {
  const Diagram diagram = find_diagram(diagram_name, models());
  std::size_t nests = 0;
  for (auto _ : state) {
    const Primitives primitives = expand(primitive_diagram(expand(diagram)));
    const Fusions fusions = enumerate_fusions(primitives);
    for (const FusedKernel& kernel : fusions.kernels) nests += enumerate_nests(primitives, kernel).considered;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(nests));
}
BENCHMARK_CAPTURE(enumeration, attention, "attention")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(enumeration, matmul_chain, "matmul_chain")->Unit(benchmark::kMillisecond);

void derivation(benchmark::State& state) {
  const DeriveRequest request{.diagram = find_diagram("attention", models()),
                              .workload = {1, 1, 1, 8192, 8192, 128, 128}};
  for (auto _ : state) benchmark::DoNotOptimize(derive(request, models()).ranked.size());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(derivation)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilescope
