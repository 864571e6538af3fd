// How much slower wgmma is while other warps do arithmetic: each product's set-up instructions (descriptors) and the
// wgmma itself compete for issue slots.
#include <cuda_fp16.h>

#include "common/wgmma.cuh"
#include "validate/microbench/sm/beside.cuh"

namespace tilescope::validate {
namespace {

namespace device = kernels::device;

constexpr int held_n = 64, held_steps = 16, held_operations = 128, panel = 64 * 128;

// Sums over all blocks: clocks of the products, rounds of the pipe.
struct Tally {
  unsigned long long clocks, rounds;
};

// One warpgroup has chains of 16 products, both operands in shared memory and at new addresses in every chain, and
// waits for each chain. Another warpgroup repeats its operations until the first one is done and counts the
// repetitions.
struct Held {
  bool products, pipe;
  Tally* tally;
  std::uint32_t stage_bytes = 4 * panel;  // known at run time only, so that every chain computes its descriptors
  static constexpr int threads = 256, stages = 2, shared_bytes = (4 + 4 * stages) * panel + 1024;
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    __shared__ volatile int done;
    for (unsigned i = threadIdx.x; i < shared_bytes / 4; i += threads)
      reinterpret_cast<unsigned*>(shared)[i] = 0x2c002c00u + (i * 2654435761u >> 22);
    if (threadIdx.x == 0) done = 0;
    device::fence_async_proxy();
    unsigned x[32];
    start_pipe(x);
    if (threadIdx.x >= 128) {
      const unsigned y = operation::as_bits(1.0001f);
      watch.start();
      int round = 0;
      // Without products: the same number of rounds as with them.
#pragma unroll 1
      for (; pipe && (products ? done == 0 : round < rounds); ++round) run_pipe<operation::Ffma, held_operations>(x, y);
      watch.stop();
      if (products) watch.span.end = watch.span.begin, watch.span.end_ns = watch.span.begin_ns;
      if (threadIdx.x == 128) atomicAdd(&tally->rounds, static_cast<unsigned long long>(round));
      return all_of(x);
    }
    const std::uint32_t base = device::shared_address(shared);
    float d[held_n / 2];
    for (int i = 0; i < held_n / 2; ++i) d[i] = 0;
    watch.start();
    if (products) {
#pragma unroll 1
      for (int round = 0; round < rounds; ++round) {
        const std::uint32_t b = base + 4 * panel + static_cast<std::uint32_t>(round % stages) * stage_bytes;
        device::pin(d);
        device::fence_operands();
#pragma unroll
        for (int step = 0; step < held_steps; ++step) {
          const unsigned at = static_cast<unsigned>(step / 4 * panel), along_k = step % 4 * 32;
          device::Wgmma<held_n>::template ss<__half>(d, device::step_descriptor(device::k_major(base + at), along_k),
                                                     device::step_descriptor(device::k_major(b + at), along_k),
                                                     step > 0);
        }
        device::commit_products();
        device::wait_products<0>();
        device::pin(d);
      }
    }
    watch.stop();
    if (threadIdx.x == 0) {
      done = 1;
      atomicAdd(&tally->clocks, static_cast<unsigned long long>(watch.span.end - watch.span.begin));
    }
    unsigned all = 0;
    for (int i = 0; i < held_n / 2; ++i) all ^= __float_as_uint(d[i]);
    return all;
  }
};

struct Run {
  double clocks = 0, rounds_of_pipe = 0;  // of one round and block
};

}  // namespace

void measure_hopper_held(Microbench& bench) {
  const DeviceBuffer memory(sizeof(Tally));
  const Shape shape{bench.units(), Held::threads, Held::shared_bytes};
  constexpr int rounds = 1000;
  const auto run = [&](bool products, bool pipe) {
    const auto once = [&](int count) {
      check_cuda(cudaMemset(memory.get(), 0, sizeof(Tally)), "cudaMemset");
      const double cycles = run_timed(Held{products, pipe, static_cast<Tally*>(memory.get())}, shape, count).cycles;
      Tally tally{};
      check_cuda(cudaMemcpy(&tally, memory.get(), sizeof tally, cudaMemcpyDeviceToHost), "cudaMemcpy");
      return Run{products ? static_cast<double>(tally.clocks) / bench.units() : cycles,
                 static_cast<double>(tally.rounds) / bench.units()};
    };
    const Run one = once(rounds), two = once(2 * rounds);
    return Run{(two.clocks - one.clocks) / rounds, (two.rounds_of_pipe - one.rounds_of_pipe) / rounds};
  };
  run(true, true);
  std::vector<double> held, both, alone, work;
  for (int i = 0; i < bench.repeats(); ++i) {
    const Run lone = run(true, false), pipe = run(false, true), beside = run(true, true);
    const double own = beside.rounds_of_pipe * pipe.clocks;
    held.push_back((beside.clocks - lone.clocks) / own);
    both.push_back(beside.clocks), alone.push_back(lone.clocks), work.push_back(own);
  }
  bench.add("beside.wgmma_held", held,
            "16 of m64n64k16, operands in shared memory, described in between, in " + whole(median_of(alone)) +
                " clk; beside a warpgroup's ffma " + whole(median_of(both)) + ", in which " + whole(median_of(work)) +
                " clk of these alone fit");
}

}  // namespace tilescope::validate
