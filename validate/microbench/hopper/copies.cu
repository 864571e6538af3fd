// wgmma at full rate while the copy engine (TMA) loads tiles into the same shared memory. Kept in the record only.
#include <cuda_fp16.h>

#include "common/wgmma.cuh"
#include "validate/microbench/hopper/feed.cuh"

namespace tilescope::validate {
namespace {

namespace device = kernels::device;

constexpr int operands = 4 * piece, in_flight = 4, copy_batch = 8;

// Two warpgroups multiply from shared memory. Meanwhile one thread of the third copies pieces from L2.
template <int n>
struct Fed {
  const char* from;
  bool feed;
  unsigned* brought;  // pieces of block 0
  static constexpr int threads = 384, shared_bytes = operands + in_flight * piece + 1024;
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    __shared__ __align__(8) unsigned long long arrived[in_flight];
    __shared__ volatile int done;
    const std::uint32_t base = device::shared_address(shared), barriers = device::shared_address(arrived);
    for (unsigned i = threadIdx.x; i < operands / 4; i += threads)
      reinterpret_cast<unsigned*>(shared)[i] = 0x2c002c00u + (i * 2654435761u >> 22);
    if (threadIdx.x == 0) {
      done = 0;
      for (int i = 0; i < in_flight; ++i) device::init_barrier(barriers + 8 * static_cast<unsigned>(i), 1);
    }
    device::fence_barrier_init();
    device::fence_async_proxy();
    if (threadIdx.x >= 256) {
      watch.start();
      watch.stop();
      if (threadIdx.x == 256 && feed) {
        const int count = Feed{from, base + operands, barriers, in_flight}([&](int) { return done < 2; });
        if (blockIdx.x == 0) *brought = static_cast<unsigned>(count);
      }
      return 0;
    }
    const std::uint64_t a = device::k_major(base + threadIdx.x / 128 * 8192), b = device::k_major(base + piece);
    float d[n / 2];
    for (int i = 0; i < n / 2; ++i) d[i] = 0;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      device::pin(d);
      device::fence_operands();
#pragma unroll
      for (int step = 0; step < copy_batch; ++step)
        device::Wgmma<n>::template ss<__half>(d, device::step_descriptor(a, step % 4 * 32),
                                              device::step_descriptor(b, step % 4 * 32), 1);
      device::commit_products();
      device::wait_products<0>();
      device::pin(d);
    }
    watch.stop();
    if (threadIdx.x % 128 == 0) atomicAdd(const_cast<int*>(&done), 1);
    unsigned all = 0;
    for (int i = 0; i < n / 2; ++i) all ^= __float_as_uint(d[i]);
    return all;
  }
};

// Clocks per product without and with copies, and the copies' bytes per clock.
template <int n>
void add_fed(Microbench& bench, MicrobenchCurve& slower, const DeviceBuffer& source, unsigned* brought) {
  using Body = Fed<n>;
  constexpr int rounds = 500;
  const auto run = [&](bool feed) {
    const Body body{static_cast<const char*>(source.get()), feed, brought};
    run_timed(body, {bench.units(), Body::threads, Body::shared_bytes}, rounds);
    return run_timed(body, {bench.units(), Body::threads, Body::shared_bytes}, rounds).cycles;
  };
  const double alone = run(false), fed = run(true);
  unsigned pieces = 0;
  check_cuda(cudaMemcpy(&pieces, brought, sizeof pieces, cudaMemcpyDeviceToHost), "cudaMemcpy");
  slower.points.emplace_back(1.0 * pieces * piece / fed, (fed - alone) / (2.0 * rounds * copy_batch));
  slower.name += " n" + std::to_string(n);
}

}  // namespace

void measure_copies(Microbench& bench) {
  const DeviceBuffer source(64 * piece), memory(sizeof(unsigned));
  check_cuda(cudaMemset(source.get(), 0, source.size()), "cudaMemset");
  auto* brought = static_cast<unsigned*>(memory.get());
  MicrobenchCurve slower{"wgmma beside bulk copies,", "B/clk copied", "clk more a product", {}};
  add_fed<64>(bench, slower, source, brought), add_fed<128>(bench, slower, source, brought);
  add_fed<256>(bench, slower, source, brought);
  bench.add_curve(slower);
}

}  // namespace tilescope::validate
