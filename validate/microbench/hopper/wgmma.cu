// wgmma: clocks between m64nNk16 instructions (8 bits: k32) on an SM, with A from shared memory or from registers.
#include <cuda_fp16.h>

#include "common/wgmma.cuh"
#include "validate/microbench/memory/span.cuh"

namespace tilescope::validate {
namespace {

namespace device = kernels::device;

constexpr int a_bytes = 64 * 128, product_steps = 32;  // one panel of A; products of a round

enum class Source { smem, reg };

// Every warpgroup multiplies its own A by a shared B into its own accumulators. A block has one warpgroup, or as many
// as the registers allow.
template <class Element, int n, Source source>
struct Products {
  static constexpr int most_groups = n <= 128 ? 3 : 2, threads = 128 * most_groups;
  static constexpr int shared_bytes = most_groups * a_bytes + n * 128 + 1024;
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    const unsigned group = threadIdx.x / 128;
    for (unsigned i = threadIdx.x; i < shared_bytes / 4; i += blockDim.x)
      reinterpret_cast<unsigned*>(shared)[i] = 0x2c002c00u + (i * 2654435761u >> 22);
    device::fence_async_proxy();
    const std::uint32_t base = device::shared_address(shared);
    const std::uint64_t a = device::k_major(base + group * a_bytes);
    const std::uint64_t b = device::k_major(base + most_groups * a_bytes);
    const std::uint32_t registers[4] = {0x2c002c00u + threadIdx.x, 0x2c012c00u, 0x2c002c03u, 0x2c012c05u};
    float d[n / 2];
    for (int i = 0; i < n / 2; ++i) d[i] = 0;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      device::pin(d);
      device::fence_operands();
#pragma unroll
      for (int step = 0; step < product_steps; ++step) {
        const unsigned along_k = step % 4 * 32;
        if constexpr (source == Source::smem)
          device::Wgmma<n>::template ss<Element>(d, device::step_descriptor(a, along_k),
                                                 device::step_descriptor(b, along_k), 1);
        else device::Wgmma<n>::template rs<Element>(d, registers, device::step_descriptor(b, along_k), 1);
      }
      device::commit_products();
      device::wait_products<0>();
      device::pin(d);
    }
    watch.stop();
    unsigned all = 0;
    for (int i = 0; i < n / 2; ++i) all ^= __float_as_uint(d[i]);
    return all;
  }
};

// One product, followed by a wait for its completion.
template <int n>
struct OneProduct {
  static constexpr int threads = 128;
  static constexpr int shared_bytes = a_bytes + n * 128 + 1024;
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    for (unsigned i = threadIdx.x; i < shared_bytes / 4; i += threads) reinterpret_cast<unsigned*>(shared)[i] = i;
    device::fence_async_proxy();
    const std::uint32_t base = device::shared_address(shared);
    float d[n / 2];
    for (int i = 0; i < n / 2; ++i) d[i] = 0;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      device::pin(d);
      device::fence_operands();
      device::Wgmma<n>::template ss<__half>(d, device::k_major(base), device::k_major(base + a_bytes), 1);
      device::commit_products();
      device::wait_products<0>();
      device::pin(d);
    }
    watch.stop();
    unsigned all = 0;
    for (int i = 0; i < n / 2; ++i) all ^= __float_as_uint(d[i]);
    return all;
  }
};

// The interval with as many warpgroups as the registers allow (three for n = 128, two for 256), which is the SM's rate.
// The interval of a single warpgroup is kept in the record only.
template <class Element, int n, Source source>
void add_interval(Microbench& bench, const std::string& key) {
  using Body = Products<Element, n, source>;
  const auto interval = [&](int groups) {
    return scaled(cycles_per_round(bench, Body{}, {bench.units(), 128 * groups, Body::shared_bytes}, 40),
                  1.0 / (product_steps * groups));
  };
  bench.add(key + ".n" + std::to_string(n), interval(Body::most_groups),
            std::to_string(Body::most_groups) +
                " warpgroups; one alone: " + std::to_string(median_of(interval(1))).substr(0, 6) + " clk");
}

template <class Element, Source source>
void add_intervals(Microbench& bench, const std::string& format) {
  const std::string key =
      std::string("tensor.") + (source == Source::smem ? "wgmma_smem." : "wgmma_register.") + format;
  add_interval<Element, 64, source>(bench, key);
  add_interval<Element, 96, source>(bench, key);
  add_interval<Element, 128, source>(bench, key);
  add_interval<Element, 192, source>(bench, key);
  add_interval<Element, 256, source>(bench, key);
}

template <int n>
void add_latency(Microbench& bench) {
  using Body = OneProduct<n>;
  bench.add("tensor.wgmma_latency.n" + std::to_string(n),
            cycles_per_round(bench, Body{}, {1, 128, Body::shared_bytes}, 1000), "fence, one product, commit, wait");
}

}  // namespace

void measure_wgmma(Microbench& bench) {
  add_intervals<__half, Source::smem>(bench, "fp16");
  add_intervals<__half, Source::reg>(bench, "fp16");
  add_intervals<__nv_bfloat16, Source::smem>(bench, "bf16");
  add_intervals<__nv_bfloat16, Source::reg>(bench, "bf16");
  add_intervals<device::E4m3, Source::smem>(bench, "fp8_e4m3");
  add_intervals<device::E4m3, Source::reg>(bench, "fp8_e4m3");
  add_latency<64>(bench), add_latency<128>(bench), add_latency<256>(bench);
}

}  // namespace tilescope::validate
