// Bodies that repeat one instruction: in many independent chains for its rate, in one chain for its latency.
#pragma once

#include "validate/microbench/memory/span.cuh"
#include "validate/microbench/sm/operations.cuh"

namespace tilescope::validate {

constexpr int chains = 8, steps_per_round = 512;  // of a thread

template <class Operation>
struct Stream {
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    unsigned x[chains];
    for (int i = 0; i < chains; ++i) x[i] = operation::as_bits(1.0f + 0.001f * static_cast<float>(threadIdx.x + i));
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int step = 0; step < steps_per_round; ++step) {
        Operation::step(x[step % chains], x[(step + 1) % chains]);
      }
    }
    watch.stop();
    unsigned all = 0;
    for (int i = 0; i < chains; ++i) all ^= x[i];
    return all;
  }
};

template <class Operation>
struct Chain {
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    unsigned x = operation::as_bits(1.0f + 0.001f * static_cast<float>(threadIdx.x));
    const unsigned y = operation::as_bits(1.5f) + threadIdx.x;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int step = 0; step < steps_per_round; ++step) Operation::step(x, y);
    }
    watch.stop();
    return x;
  }
};

// Thread operations a clock and SM, `per_step` of them a step.
template <class Operation>
void add_rate(Microbench& bench, const std::string& path, const std::string& note, double per_step = 1) {
  const double operations = 1024.0 * steps_per_round * per_step;
  bench.add(path, inverse(cycles_per_round(bench, Stream<Operation>{}, {bench.units(), 1024, 0}, 20), operations),
            note);
}

template <class Operation>
void add_latency(Microbench& bench, const std::string& path, const std::string& note) {
  bench.add(path, scaled(cycles_per_round(bench, Chain<Operation>{}, {1, 32, 0}, 20), 1.0 / steps_per_round), note);
}

}  // namespace tilescope::validate
