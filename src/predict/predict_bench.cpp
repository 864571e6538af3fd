// How many points a second the closed form evaluates on one core, and how many allocations a point costs.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "predict/predict.h"

#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // both are replaced below

namespace {
std::atomic<std::int64_t> allocations{0};
}

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tilescope {
namespace {

void evaluate(benchmark::State& state, const char* mask, Wanted wanted = Wanted::times) {
  const Plan plan = load_plan_for_schedule("flash2", TILESCOPE_SOURCE_DIR);
  const HardwareProfile hardware = find_profile("h200_sxm", std::string(TILESCOPE_SOURCE_DIR) + "/hardware");
  Point point = default_point(plan);
  point.mask = *parse_mask(mask);
  point.workload = {4, 32, 8, 4096, 4096, 128, 128};
  Prediction prediction;
  predict(plan, hardware, point, prediction);
  const std::int64_t before = allocations;
  std::int64_t length = 0;
  for (auto _ : state) {
    point.workload.q_len = point.workload.kv_len =
        state.range(0) + (++length & 127);  // a different, ragged shape each time
    predict(plan, hardware, point, prediction, wanted);
    benchmark::DoNotOptimize(prediction.time.total);
    benchmark::DoNotOptimize(prediction.traffic);
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["allocations_per_point"] =
      static_cast<double>(allocations - before) / static_cast<double>(state.iterations());
}

void unmasked(benchmark::State& state) { evaluate(state, "none"); }
void causal(benchmark::State& state) { evaluate(state, "causal"); }
void unmasked_counts(benchmark::State& state) { evaluate(state, "none", Wanted::counts); }
void unmasked_memory(benchmark::State& state) { evaluate(state, "none", Wanted::memory); }
void causal_memory(benchmark::State& state) { evaluate(state, "causal", Wanted::memory); }

// One point through the walk: blocks in issue order, every tile through the L2.
void walk(benchmark::State& state, const char* kernel, const char* mask) {
  const Plan plan = load_plan_for_kernel(kernel, TILESCOPE_SOURCE_DIR);
  const HardwareProfile hardware = find_profile("h200_sxm", std::string(TILESCOPE_SOURCE_DIR) + "/hardware");
  Point point = default_point(plan);
  point.mask = *parse_mask(mask), point.l2 = L2Model::walk;
  point.workload = {4, 32, 32, 4096, 4096, 128, 128};
  for (const KernelVariant& variant : plan.kernel.variants)
    if (variant.head_dim == 128) take_variant(point, plan.schedule, variant);
  Prediction prediction;
  for (auto _ : state) {
    predict(plan, hardware, point, prediction);
    benchmark::DoNotOptimize(prediction.time.total);
  }
}

BENCHMARK_CAPTURE(walk, fused_mma, "fused_mma", "none")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(walk, fused_mma_causal, "fused_mma", "causal")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(walk, backward, "backward", "none")->Unit(benchmark::kMillisecond);

BENCHMARK(unmasked)->Arg(4096)->Arg(131072);
BENCHMARK(causal)->Arg(4096)->Arg(131072);
BENCHMARK(unmasked_counts)->Arg(4096);
BENCHMARK(unmasked_memory)->Arg(4096);
BENCHMARK(causal_memory)->Arg(4096);

}  // namespace
}  // namespace tilescope
