// Arithmetic pipes: thread operations a clock, and latencies of dependent chains.
#include "validate/microbench/memory/stream.cuh"

namespace tilescope::validate {
namespace {

using namespace operation;

// Chains of multiply-adds and chains of integer operations together: the issue rate when no pipe is saturated.
template <int multiply_adds, int integers>
struct MixedPipes {
  static constexpr int repeats = 384 / (multiply_adds + integers);
  static constexpr double operations = 1024.0 * repeats * (multiply_adds + integers);
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    unsigned f[multiply_adds], n[integers + 1];
    for (int i = 0; i < multiply_adds; ++i) f[i] = as_bits(1.0f + 0.001f * static_cast<float>(threadIdx.x + i));
    for (int i = 0; i <= integers; ++i) n[i] = threadIdx.x + static_cast<unsigned>(i);
    const unsigned one = as_bits(0.5f);
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int repeat = 0; repeat < repeats; ++repeat) {
#pragma unroll
        for (int i = 0; i < multiply_adds; ++i) {
          Ffma::step(f[i], one);
          if (i * integers / multiply_adds != (i + 1) * integers / multiply_adds)
            Lop3::step(n[i * integers / multiply_adds], n[integers]);
        }
      }
    }
    watch.stop();
    unsigned all = 0;
    for (int i = 0; i < multiply_adds; ++i) all ^= f[i];
    for (int i = 0; i < integers; ++i) all ^= n[i];
    return all;
  }
};

template <int multiply_adds, int integers>
std::vector<double> mixed_rate(const Microbench& bench) {
  using Body = MixedPipes<multiply_adds, integers>;
  return inverse(cycles_per_round(bench, Body{}, {bench.units(), 1024, 0}, 20), Body::operations);
}

void add_issue(Microbench& bench) {
  MicrobenchCurve curve{"issue of ffma and lop3 together", "lop3 for each ffma", "thread operations/clk a unit", {}};
  std::vector<double> best;
  const auto note = [&](double share, const std::vector<double>& samples) {
    curve.points.emplace_back(share, median_of(samples));
    if (median_of(samples) > median_of(best)) best = samples;
  };
  note(0.125, mixed_rate<8, 1>(bench)), note(0.25, mixed_rate<8, 2>(bench)), note(0.5, mixed_rate<8, 4>(bench));
  note(0.75, mixed_rate<8, 6>(bench)), note(1, mixed_rate<8, 8>(bench));
  bench.add_curve(curve);
  bench.add("pipes.issue", best, "32 warps per SM; the mix of ffma and lop3 with the highest rate");
}

}  // namespace

void measure_pipes(Microbench& bench) {
  const std::string many = "32 warps per SM, 8 chains per thread";
  add_rate<Ex2>(bench, "pipes.ex2", many);
  add_rate<Rcp>(bench, "pipes.rcp", many);
  add_rate<Lg2>(bench, "pipes.lg2", many);
  add_rate<Ffma>(bench, "pipes.ffma", many);
  add_rate<Fadd>(bench, "pipes.fadd", many);
  add_rate<Fmul>(bench, "pipes.fmul", many);
  add_rate<Max>(bench, "pipes.max", many);
  add_rate<Lop3>(bench, "pipes.lop3", many);
  add_rate<Iadd3>(bench, "pipes.iadd3", many);
  add_rate<Prmt>(bench, "pipes.prmt", many);
  add_rate<CvtF16x2>(bench, "pipes.cvt_f16x2", many);
  add_rate<CvtBf16x2>(bench, "pipes.cvt_bf16x2", many);
  add_rate<Shuffle>(bench, "pipes.shuffle", many);
  add_issue(bench);
  const std::string one = "one warp";
  add_latency<Ffma>(bench, "chains.ffma", one);
  add_latency<Ex2>(bench, "chains.ex2", one);
  add_latency<Max>(bench, "chains.max", one);
  add_latency<Shuffle>(bench, "chains.shuffle", one);
  add_latency<CvtF16x2>(bench, "chains.cvt_f16x2", one);
  add_latency<Iadd3>(bench, "chains.iadd3", one);
}

}  // namespace tilescope::validate
