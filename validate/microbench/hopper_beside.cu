// What a pipe loses to wgmma at full rate in other warps.
#include "common/wgmma.cuh"
#include "validate/microbench/beside.cuh"

namespace tilescope::validate {
namespace {

namespace device = kernels::device;

constexpr int groups = 2, n = 128, steps = 8, operations = 512;

// Whether any of a warpgroup's threads says so: they stop together, for their products are the warpgroup's.
__device__ __forceinline__ bool any_of_group(bool own, int barrier) {
  unsigned any;
  asm volatile(
      "{.reg .pred p, q; setp.ne.u32 p, %1, 0; barrier.cta.red.or.pred q, %2, 128, p; selp.u32 %0, 1, 0, q;}"
      : "=r"(any)
      : "r"(static_cast<unsigned>(own)), "r"(barrier)
      : "memory");
  return any != 0;
}

// Two warpgroups multiply, A from registers, until the third has done its rounds with the pipe, in `chains` chains; only its
// time counts. `two`: operations of two chains' values.
template <class Operation, int chains, bool two>
struct BesideWide {
  bool products;
  float scale = 0.5f;
  static constexpr int threads = 128 * (groups + 1), shared_bytes = n * 128 + 1024 + 16;
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    volatile unsigned* const done = reinterpret_cast<volatile unsigned*>(shared + n * 128 + 1024);
    for (unsigned i = threadIdx.x; i < n * 128 / 4; i += threads)
      reinterpret_cast<unsigned*>(shared)[i] = 0x2c002c00u + (i * 2654435761u >> 22);
    if (threadIdx.x == 0) *done = 0;
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
        while (!any_of_group(*done >= 4, 1 + static_cast<int>(threadIdx.x) / 128)) {
          device::pin(d);
          device::fence_operands();
#pragma unroll
          for (int step = 0; step < steps; ++step)
            device::Wgmma<n>::template rs<__half>(d, a, device::step_descriptor(b, step % 4 * 32), 1);
          device::commit_products();
          device::wait_products<0>();
          device::pin(d);
        }
      unsigned all = 0;
      for (int i = 0; i < n / 2; ++i) all ^= __float_as_uint(d[i]);
      return all;
    }
    unsigned x[chains], y[4];
    start_pipe(x), start_pipe(y);
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      if constexpr (two) run_pipe<Operation, operations>(x);
      else run_pipe<Operation, operations>(x, y, scale);
    }
    watch.stop();
    if (threadIdx.x % 32 == 0) atomicAdd(const_cast<unsigned*>(done), 1u);
    return all_of(x);
  }
};

template <class Operation, int chains, bool two>
double clocks(const Microbench& bench, bool products) {
  using Body = BesideWide<Operation, chains, two>;
  return median_of(cycles_per_round(bench, Body{products}, {bench.units(), Body::threads, Body::shared_bytes}, 20));
}

template <class Operation, int chains>
double longer(const Microbench& bench) {
  return clocks<Operation, chains, false>(bench, true) / clocks<Operation, chains, false>(bench, false) - 1;
}

template <class Operation, class OfTwo>
void add_beside(Microbench& bench, const std::string& key) {
  bench.add(key,
            {longer<Operation, 8>(bench), longer<Operation, 12>(bench), longer<Operation, 16>(bench),
             longer<Operation, 24>(bench), longer<Operation, 32>(bench)},
            "beside two warpgroups with 8 of m64n128k16 at a time, A from registers; five arrangements of registers");
  MicrobenchCurve curve{key + ", two registers an operation",
                        "clk of the pipe alone, for " + whole(operations) + " operations a thread",
                        "clk beside two warpgroups with m64n128k16, A from registers", {}};
  curve.points.emplace_back(clocks<OfTwo, 8, true>(bench, false), clocks<OfTwo, 8, true>(bench, true));
  bench.add_curve(curve);
}

}  // namespace

void measure_hopper_beside(Microbench& bench) {
  add_beside<streamed::Ex2, operation::Ex2>(bench, "beside.wgmma_ex2");
  add_beside<streamed::Ffma, operation::Ffma>(bench, "beside.wgmma_ffma");
  add_beside<streamed::Max, operation::Max>(bench, "beside.wgmma_max");
}

}  // namespace tilescope::validate
