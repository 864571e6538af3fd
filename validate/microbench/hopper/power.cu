// Energy of a tensor FLOP: wgmma on random normal operands, on a few SMs (at the highest clock) and on all SMs (at the
// power limit); and the clock of the latter right after a pause.
#include <cuda_fp8.h>
#include <unistd.h>

#include <cmath>

#include "common/wgmma.cuh"
#include "hardware/clock_exponent.h"
#include "validate/microbench/launch/power.h"
#include "validate/microbench/steady.cuh"

namespace tilescope::validate {
namespace {

namespace device = kernels::device;

constexpr int power_n = 256, power_groups = 2,
              tiles = 4;  // B tiles used in rotation, each of power_n rows of 128 bytes

__device__ float normal(unsigned i) {  // Box-Muller over a hash
  unsigned a = i * 2654435761u + 12345u, b = a ^ 0x9e3779b9u;
  a ^= a >> 15, a *= 0x85ebca6bu, a ^= a >> 13;
  b ^= b >> 16, b *= 0xc2b2ae35u, b ^= b >> 15;
  const float u = (static_cast<float>(a >> 8) + 1.0f) * 0x1p-24f, v = static_cast<float>(b >> 8) * 0x1p-24f;
  return sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
}

template <class Element>
__device__ unsigned packed(unsigned i) {
  if constexpr (std::is_same_v<Element, device::E4m3>) {
    unsigned word = 0;
    for (unsigned j = 0; j < 4; ++j) word |= static_cast<unsigned>(__nv_fp8_e4m3(normal(4 * i + j)).__x) << 8 * j;
    return word;
  } else {
    return device::Element<Element>::pack(normal(2 * i), normal(2 * i + 1));
  }
}

// Products of 128 bytes of k a tile, two tiles to a sum as for head_dim 128. `fresh` is 0 at run time. If the assembler
// knew that, it would remove sums that are overwritten.
template <class Element>
struct NormalProducts {
  int fresh = 0;
  static constexpr int threads = 128 * power_groups;
  static constexpr int shared_bytes = power_groups * 64 * 128 + tiles * power_n * 128 + 1024;
  static constexpr double flop =
      2.0 * 64 * power_n * (128.0 / (std::is_same_v<Element, device::E4m3> ? 1 : 2)) * tiles * power_groups;
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    for (unsigned i = threadIdx.x; i < shared_bytes / 4; i += threads)
      reinterpret_cast<unsigned*>(shared)[i] = packed<Element>(i + blockIdx.x * 65536);
    device::fence_async_proxy();
    const std::uint32_t base = device::shared_address(shared);
    const std::uint64_t a = device::k_major(base + threadIdx.x / 128 * 64 * 128),
                        b = device::k_major(base + power_groups * 64 * 128);
    float d[power_n / 2];
    for (int i = 0; i < power_n / 2; ++i) d[i] = 0;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      device::pin(d);
      device::fence_operands();
#pragma unroll
      for (int tile = 0; tile < tiles; ++tile)
#pragma unroll
        for (int step = 0; step < 4; ++step)
          device::Wgmma<power_n>::template ss<Element>(d, device::step_descriptor(a, step * 32),
                                                       device::step_descriptor(b, tile * power_n * 128 + step * 32),
                                                       tile % 2 == 0 && step == 0 ? fresh : 1);
      device::commit_products();
      device::wait_products<0>();
      device::pin(d);
    }
    watch.stop();
    unsigned all = 0;
    for (int i = 0; i < power_n / 2; ++i) all ^= __float_as_uint(d[i]);
    return all;
  }
};

// mma.sync by 16 warps on operands in registers, with a few sets of operands in rotation.
struct RegisterProducts {
  static constexpr int threads = 512, chains = 8, sets = 4, steps = 8;
  static constexpr double flop = 2.0 * 16 * 8 * 16 * steps * chains * threads / 32;
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    unsigned a[sets][4], b[sets][2], at = (blockIdx.x * threads + threadIdx.x) * 32;
    for (int set = 0; set < sets; ++set) {
      for (int i = 0; i < 4; ++i) a[set][i] = packed<__half>(at++);
      for (int i = 0; i < 2; ++i) b[set][i] = packed<__half>(at++);
    }
    float c[chains][4] = {};
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int step = 0; step < steps; ++step)
#pragma unroll
        for (int i = 0; i < chains; ++i) {
          const unsigned(&x)[4] = a[(i + step) % sets], (&y)[2] = b[(i / 2 + step) % sets];
          asm volatile(
              "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
              "{%0,%1,%2,%3};"
              : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
              : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
        }
    }
    watch.stop();
    unsigned all = 0;
    for (int i = 0; i < chains; ++i)
      for (int j = 0; j < 4; ++j) all ^= __float_as_uint(c[i][j]);
    return all;
  }
};

// Additions of 16 bytes a thread to the block's own 32 KiB of floats in the L2, of numbers that change the sums.
struct Additions {
  float* to;
  static constexpr int threads = 256, bytes = 32768;
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    float* own = to + blockIdx.x * (bytes / 4) + threadIdx.x * 4;
    const float x = normal(blockIdx.x * threads + threadIdx.x), y = normal(threadIdx.x * 7919u + blockIdx.x);
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round)
#pragma unroll
      for (int i = 0; i < bytes / 4; i += threads * 4)
        asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1,%2,%3,%4};" ::"l"(own + i), "f"(x), "f"(y), "f"(-x),
                     "f"(-y)
                     : "memory");
    watch.stop();
    return 0;
  }
};

template <class Element>
LoadResult products_on(const Nvml& nvml, double seconds, int blocks) {
  using Body = NormalProducts<Element>;
  return steady_load(nvml, seconds, Body{}, {blocks, Body::threads, Body::shared_bytes}, Body::flop);
}

// Hz of products on all SMs in the first milliseconds after a pause, before the power limit takes effect.
std::vector<double> first_clocks(int units) {
  using Body = NormalProducts<__half>;
  constexpr int samples = 5, pause_us = 300000,
                rounds = 800;  // 2 ms: 16 products of 128 clocks of each of two warpgroups
  std::vector<double> found;
  for (int i = 0; i < samples; ++i) {
    usleep(pause_us);
    found.push_back(run_timed(Body{}, {units, Body::threads, Body::shared_bytes}, rounds).clock_hz);
  }
  return found;
}

// Energy of a tensor FLOP on a few SMs, far below the power limit: from the difference between an eighth and three
// eighths of the SMs.
template <class Element>
double add_energy(Microbench& bench, const Nvml& nvml, double seconds, const std::string& format, LoadCurves& curves) {
  const LoadResult few = products_on<Element>(nvml, seconds, bench.units() / 8);
  const LoadResult more = products_on<Element>(nvml, seconds, bench.units() * 3 / 8);
  curves.add("tensor " + format + " on 1/8 of the SMs", few), curves.add("tensor " + format + " on 3/8", more);
  bench.add("power.tensor." + format,
            {(more.watts - few.watts) / (more.operations_per_second - few.operations_per_second)},
            "wgmma m64n256, A and B from shared memory: difference of 3/8 and 1/8 of the SMs, at " +
                std::to_string(static_cast<int>(more.clock_hz / 1e6)) + " MHz");
  return more.clock_hz;
}

void add_register_energy(Microbench& bench, const Nvml& nvml, double seconds, LoadCurves& curves) {
  using Body = RegisterProducts;
  const auto on = [&](int blocks) {
    return steady_load(nvml, seconds, Body{}, {blocks, Body::threads, 0}, Body::flop);
  };
  const LoadResult few = on(bench.units() / 8), more = on(bench.units() * 3 / 8);
  curves.add("mma fp16 on 1/8 of the SMs", few), curves.add("mma fp16 on 3/8", more);
  bench.add("power.mma.fp16", {(more.watts - few.watts) / (more.operations_per_second - few.operations_per_second)},
            "m16n8k16, operands in registers: difference of 3/8 and 1/8 of the SMs");
}

}  // namespace

void measure_tensor_power(Microbench& bench, const Nvml& nvml, double seconds, const LoadResult& awake,
                          LoadCurves& curves) {
  const double light = add_energy<__half>(bench, nvml, seconds, "fp16", curves);
  bench.add("clock.tensor_most", {light}, "wgmma on 3/8 of the SMs, far below the power limit");
  add_energy<__nv_bfloat16>(bench, nvml, seconds, "bf16", curves);
  add_register_energy(bench, nvml, seconds, curves);
  add_energy<device::E4m3>(bench, nvml, seconds, "fp8_e4m3", curves);
  {
    const DeviceBuffer sums(static_cast<std::size_t>(bench.units()) * Additions::bytes);
    check_cuda(cudaMemset(sums.get(), 0, sums.size()), "cudaMemset");
    const LoadResult load = steady_load(nvml, seconds, Additions{static_cast<float*>(sums.get())},
                                        {bench.units(), Additions::threads, 0}, Additions::bytes);
    curves.add("power.add", load);
    bench.add("power.add", {(load.watts - awake.watts) / load.operations_per_second},
              "red.v4.f32, every SM adds to its own 32 KiB; " + std::to_string(static_cast<int>(load.watts)) +
                  " W at " + std::to_string(static_cast<int>(load.clock_hz / 1e6)) + " MHz");
  }
  std::vector<HeldLoad> held;
  const auto load_on = [&](const std::string& part, int blocks) {
    const LoadResult load = products_on<__half>(nvml, seconds, blocks);
    curves.add("tensor fp16 on " + part, load);
    held.push_back({load.clock_hz, load.watts, load.operations_per_second});
    return load;
  };
  for (const int eighths : {5, 6, 7}) load_on(std::to_string(eighths) + "/8", bench.units() * eighths / 8);
  const LoadResult all = load_on("all", bench.units());
  bench.add("clock.tensor_load", {all.clock_hz},
            "wgmma fp16 over random normal operands on all SMs, " + std::to_string(static_cast<int>(all.watts)) + " W");
  bench.add("clock.tensor_first", first_clocks(bench.units()),
            "wgmma fp16 over random normal operands on all SMs, the first 2 ms after a pause");
  const double exponent = clock_exponent(held, light, bench.find("power.tensor.fp16")->value, awake.watts);
  if (exponent > 0)
    bench.add("power.clock_exponent", {exponent},
              "exponent of the clock in the energy of a wgmma FLOP: least squares over 5/8, 6/8, 7/8 and all of the "
              "SMs, whose clock the power limit holds, against a few SMs");
  curves.add("tensor bf16 on all", products_on<__nv_bfloat16>(nvml, seconds, bench.units()));
  curves.add("tensor fp8 on all", products_on<device::E4m3>(nvml, seconds, bench.units()));
}

}  // namespace tilescope::validate
