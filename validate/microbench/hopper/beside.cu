// How much slower a pipe is while other warps run wgmma at full rate.
#include "common/wgmma.cuh"
#include "validate/microbench/sm/beside.cuh"

namespace tilescope::validate {
namespace {

namespace device = kernels::device;

constexpr int groups = 2, n = 128, batch = 8, operations = 512;
constexpr int batches = 8;  // batches per round of the pipe, enough to outlast it

// Two warpgroups multiply with A from registers for longer than the third warpgroup needs for its rounds on the pipe.
// Only the third one is timed. `two`: operations combine values of two chains.
template <class Operation, int chains, bool two>
struct BesideWide {
  bool products;
  unsigned y = 0x3f000000u;  // 0.5f
  static constexpr int threads = 128 * (groups + 1), shared_bytes = n * 128 + 1024;
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    for (unsigned i = threadIdx.x; i < n * 128 / 4; i += threads)
      reinterpret_cast<unsigned*>(shared)[i] = 0x2c002c00u + (i * 2654435761u >> 22);
    device::fence_async_proxy();
    if (threadIdx.x < 128 * groups) {
      const std::uint64_t b = device::k_major(device::shared_address(shared));
      const std::uint32_t a[4] = {0x2c002c00u + threadIdx.x, 0x2c012c00u, 0x2c002c03u, 0x2c012c05u};
      float d[n / 2];
      for (int i = 0; i < n / 2; ++i) d[i] = 0;
      watch.start();
      watch.stop();
      if (products)
#pragma unroll 1
        for (int i = 0; i < rounds * batches; ++i) {
          device::pin(d);
          device::fence_operands();
#pragma unroll
          for (int step = 0; step < batch; ++step)
            device::Wgmma<n>::template rs<__half>(d, a, device::step_descriptor(b, step % 4 * 32), 1);
          device::commit_products();
          device::wait_products<0>();
          device::pin(d);
        }
      unsigned all = 0;
      for (int i = 0; i < n / 2; ++i) all ^= __float_as_uint(d[i]);
      return all;
    }
    unsigned x[chains];
    start_pipe(x);
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      if constexpr (two) run_pipe<Operation, operations>(x);
      else run_pipe<Operation, operations>(x, y);
    }
    watch.stop();
    return all_of(x);
  }
};

template <class Operation, int chains, bool two>
double clocks(const Microbench& bench, bool products) {
  using Body = BesideWide<Operation, chains, two>;
  return median_of(cycles_per_round(bench, Body{products}, {bench.units(), Body::threads, Body::shared_bytes}, 20));
}

template <class Operation>
void add_beside(Microbench& bench, const std::string& key) {
  using Body = BesideWide<Operation, 16, false>;
  const double alone = clocks<Operation, 16, false>(bench, false);
  std::vector<double> longer =
      cycles_per_round(bench, Body{true}, {bench.units(), Body::threads, Body::shared_bytes}, 20);
  const double beside = median_of(longer);
  for (double& sample : longer) sample = sample / alone - 1;
  bench.add(key, longer,
            "two warpgroups with 8 of m64n128k16 at a time, A from registers: " + whole(operations) +
                " operations of another in " + whole(beside) + " clk for " + whole(alone));
  MicrobenchCurve curve{key + ", two registers an operation",
                        "clk of the pipe alone, for " + whole(operations) + " operations a thread",
                        "clk beside two warpgroups with m64n128k16, A from registers",
                        {}};
  curve.points.emplace_back(clocks<Operation, 8, true>(bench, false), clocks<Operation, 8, true>(bench, true));
  bench.add_curve(curve);
}

}  // namespace

void measure_hopper_beside(Microbench& bench) {
  add_beside<operation::Ex2>(bench, "beside.wgmma_ex2");
  add_beside<operation::Ffma>(bench, "beside.wgmma_ffma");
  add_beside<operation::Max>(bench, "beside.wgmma_max");
}

}  // namespace tilescope::validate
