// mma.sync: clocks between instructions of a sub-partition, and the latency of a chain through the accumulators.
#pragma once

#include "validate/microbench/memory/span.cuh"

#define TILESCOPE_MMA_OPERANDS "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"

namespace tilescope::validate {

template <class Mma, int chains>
struct MmaStream {
  static constexpr int steps = 64;  // products of a chain in a round
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    unsigned c[chains][4], a[4], b[chains][2];
    for (int i = 0; i < 4; ++i) a[i] = 0x38003800u + (threadIdx.x << i);
    for (int i = 0; i < chains; ++i)
      for (int j = 0; j < 2; ++j) b[i][j] = 0x34003400u + (threadIdx.x << j) + static_cast<unsigned>(i);
    for (int i = 0; i < chains; ++i)
      for (int j = 0; j < 4; ++j) c[i][j] = 0;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        // Without a new operand the compiler multiplies once and only repeats the addition.
        if constexpr (Mma::emulated) a[step % 4] += 0x10001u;
#pragma unroll
        for (int i = 0; i < chains; ++i) Mma::step(c[i], a, b[i]);
      }
    }
    watch.stop();
    unsigned all = 0;
    for (int i = 0; i < chains; ++i)
      for (int j = 0; j < 4; ++j) all ^= c[i][j];
    return all;
  }
};

template <class Mma>
void add_mma(Microbench& bench, const std::string& interval, const std::string& latency, const std::string& shape) {
  using Many = MmaStream<Mma, 4>;
  using One = MmaStream<Mma, 1>;
  constexpr int warps = 16;
  const double per_partition = 1.0 * warps / 4 * 4 * Many::steps;
  bench.add(interval, scaled(cycles_per_round(bench, Many{}, {bench.units(), 32 * warps, 0}, 10), 1 / per_partition),
            shape + ", 4 warps per sub-partition, 4 chains each");
  bench.add(latency, scaled(cycles_per_round(bench, One{}, {1, 32, 0}, 20), 1.0 / One::steps),
            shape + ", one warp, each result is the next accumulator");
}

}  // namespace tilescope::validate
