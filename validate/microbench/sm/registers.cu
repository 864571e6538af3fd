// Multiply-adds of three registers each. Registers are banked, so that some register assignments delay an instruction;
// src/loopbounds/register_banks.h computes the delay from the machine code.
#include <utility>

#include "validate/microbench/memory/span.cuh"

namespace tilescope::validate {
namespace {

constexpr int warps = 8, operations = 128;  // two warps per scheduler; operations per thread and round

// `sums` accumulators in rotation. Their factors are chosen by a linear congruential generator from `seed`.
template <unsigned seed, int factors, int sums>
struct Drawn {
  static constexpr int threads = 32 * warps;
  __host__ __device__ static constexpr int factor(int operation, unsigned which) {
    unsigned state = seed * 7919u + static_cast<unsigned>(operation) * 31u + which * 1009u;
    for (int i = 0; i < 6; ++i) state = state * 1664525u + 1013904223u;
    return static_cast<int>((state >> 16) % factors);
  }
  template <int... operation>
  __device__ __forceinline__ static void add(const float (&a)[factors], const float (&b)[factors], float (&sum)[sums],
                                             std::integer_sequence<int, operation...>) {
    (multiply_add(a[std::integral_constant<int, factor(operation, 0)>::value],
                  b[std::integral_constant<int, factor(operation, 1)>::value], sum[operation % sums]),
     ...);
  }
  __device__ __forceinline__ static void multiply_add(float a, float b, float& sum) { sum = __fmaf_rn(a, b, sum); }
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    float a[factors], b[factors], sum[sums];
    for (int i = 0; i < factors; ++i)
      a[i] = 0.5f + 0.001f * static_cast<float>(threadIdx.x + i), b[i] = 0.7f - 0.5f * a[i];
    for (int i = 0; i < sums; ++i) sum[i] = static_cast<float>(i);
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) add(a, b, sum, std::make_integer_sequence<int, operations>{});
    watch.stop();
    float all = 0;
    for (int i = 0; i < sums; ++i) all += sum[i];
    return __float_as_uint(all);
  }
};

// Clocks per operation and scheduler.
template <unsigned seed, int factors, int sums>
double clocks(const Microbench& bench) {
  using Body = Drawn<seed, factors, sums>;
  return median_of(cycles_per_round(bench, Body{}, {bench.units(), Body::threads, 0}, 40)) / (operations * warps / 4);
}

}  // namespace

void measure_registers(Microbench& bench) {
  MicrobenchCurve curve{
      "multiply-adds of three registers, two warps a scheduler", "draw of factors and sums", "clk a multiply-add", {}};
  curve.points = {{1, clocks<1, 8, 16>(bench)},    {2, clocks<2, 8, 16>(bench)},   {3, clocks<3, 8, 16>(bench)},
                  {4, clocks<4, 16, 16>(bench)},   {5, clocks<5, 16, 16>(bench)},  {6, clocks<6, 16, 16>(bench)},
                  {7, clocks<7, 16, 32>(bench)},   {8, clocks<8, 16, 32>(bench)},  {9, clocks<9, 16, 32>(bench)},
                  {10, clocks<10, 32, 32>(bench)}, {11, clocks<11, 32, 32>(bench)}};
  bench.add_curve(curve);
}

}  // namespace tilescope::validate
