// Energy of an operation: power under a steady load of that operation, minus the power of SMs that only spin, divided
// by the operation's rate.
#include <cuda_fp16.h>

#include "validate/microbench/device_loops.cuh"
#include "validate/microbench/launch/power.h"
#include "validate/microbench/steady.cuh"

namespace tilescope::validate {
namespace {

constexpr int steps = 64, chains = 8;

struct Awake {
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    unsigned x = threadIdx.x;
    watch.start();
#pragma unroll 1
    for (int i = 0; i < rounds * 64; ++i) asm volatile("prmt.b32 %0, %0, %1, 0x2103;" : "+r"(x) : "r"(i));
    watch.stop();
    return x;
  }
};

// x' = c - x^2, which stays within [-2, 2] and is chaotic, so that every bit of the operands keeps changing.
struct Squares {
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    float x[chains];
    for (int i = 0; i < chains; ++i) x[i] = 0.001f * static_cast<float>(threadIdx.x + 1) + 0.01f * i;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int step = 0; step < steps; ++step)
#pragma unroll
        for (int i = 0; i < chains; ++i) asm volatile("fma.rn.ftz.f32 %0, %0, %0, %1;" : "+f"(x[i]) : "f"(-1.9f));
    }
    watch.stop();
    float all = 0;
    for (int i = 0; i < chains; ++i) all += x[i];
    return __float_as_uint(all);
  }
};

// y' = s 2^(-y^2) + b: the Gauss map, also chaotic. One ex2, one product, one multiply-add, and the negation, for which
// the assembler emits a separate addition.
struct Exponentials {
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    float y[chains];
    for (int i = 0; i < chains; ++i) y[i] = 0.001f * static_cast<float>(threadIdx.x + 1) + 0.01f * i;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int step = 0; step < steps; ++step)
#pragma unroll
        for (int i = 0; i < chains; ++i)
          asm volatile(
              "{.reg .f32 t; mul.rn.ftz.f32 t, %0, %0; neg.ftz.f32 t, t; ex2.approx.ftz.f32 t, t;"
              " fma.rn.ftz.f32 %0, t, %1, %2;}"
              : "+f"(y[i])
              : "f"(2.9908f), "f"(-1.4954f));
    }
    watch.stop();
    float all = 0;
    for (int i = 0; i < chains; ++i) all += y[i];
    return __float_as_uint(all);
  }
};

// Sums of neighbours: pseudo-random bits.
struct Integers {
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    unsigned x[chains];
    for (int i = 0; i < chains; ++i) x[i] = (threadIdx.x + 77u * static_cast<unsigned>(i) + 1) * 2654435761u;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int step = 0; step < steps; ++step)
#pragma unroll
        for (int i = 0; i < chains; ++i)
          asm volatile("{.reg .b32 t; add.u32 t, %0, %1; add.u32 %0, t, 77;}" : "+r"(x[i]) : "r"(x[(i + 1) % chains]));
    }
    watch.stop();
    unsigned all = 0;
    for (int i = 0; i < chains; ++i) all ^= x[i];
    return all;
  }
};

struct SharedLoads {
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    for (unsigned i = threadIdx.x; i < 32768 / 4; i += blockDim.x)
      reinterpret_cast<unsigned*>(shared)[i] = (i + 1) * 2654435761u;
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(shared)) + threadIdx.x * 16;
    unsigned x[4] = {};
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        unsigned v[4];
        asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                     : "r"(at ^ step % 16 * 1024));
        x[step % 4] ^= v[step / 4 % 4];
      }
    }
    watch.stop();
    return x[0] ^ x[1] ^ x[2] ^ x[3];
  }
};

__global__ void scatter_kernel(unsigned* data, std::size_t count) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += std::size_t{gridDim.x} * blockDim.x) {
    unsigned x = static_cast<unsigned>(i) * 2654435761u;
    x ^= x >> 15, x *= 0x85ebca6bu, x ^= x >> 13;
    data[i] = x;
  }
}

}  // namespace

void measure_power(Microbench& bench) {
  char bus[32] = "";
  check_cuda(cudaDeviceGetPCIBusId(bus, sizeof bus, 0), "cudaDeviceGetPCIBusId");
  const Nvml nvml(bus);
  if (!nvml.energy_j()) return;
  const double seconds = bench.quick() ? 1.0 : 2.0;
  const int units = bench.units();
  const Shape all{units, 1024, 0};
  check_cuda(cudaDeviceSynchronize(), "waiting");
  bench.add("power.idle", {idle_watts(nvml, 1.0)}, "a context without kernels for 2 s");
  const LoadResult awake = steady_load(nvml, seconds, Awake{}, {units, 32, 0}, 1);
  bench.add("power.busy", {awake.watts}, "one warp per SM, dependent integer instructions");
  LoadCurves curves;
  const auto per_operation = [&](const std::string& path, const LoadResult& load, const std::string& note) {
    curves.add(path, load);
    bench.add(path, {(load.watts - awake.watts) / load.operations_per_second},
              note + "; " + std::to_string(static_cast<int>(load.watts)) + " W at " +
                  std::to_string(static_cast<int>(load.clock_hz / 1e6)) + " MHz");
  };
  curves.add("power.busy", awake);
  const double operations = 1024.0 * steps * chains;
  per_operation("power.ffma", steady_load(nvml, seconds, Squares{}, all, operations), "x = c - x^2");
  const double ffma = bench.find("power.ffma")->value;
  LoadResult exponentials = steady_load(nvml, seconds, Exponentials{}, all, operations);
  curves.add("power.ex2", exponentials);
  bench.add("power.ex2", {(exponentials.watts - awake.watts) / exponentials.operations_per_second - 3 * ffma},
            "minus the three operations that feed it (a product, a negation, a multiply-add), at the energy of ffma");
  per_operation("power.issue", steady_load(nvml, seconds, Integers{}, all, operations), "iadd3");
  per_operation("power.smem", steady_load(nvml, seconds, SharedLoads{}, {units, 1024, 32768}, 1024.0 * 16 * steps),
                "ld.shared.v4");
  {
    const DeviceBuffer buffer(std::size_t{2} << 30);
    scatter_kernel<<<1024, 256>>>(static_cast<unsigned*>(buffer.get()), buffer.size() / 4);
    const auto* data = static_cast<const uint4*>(buffer.get());
    constexpr std::size_t trip = 1024 * loads_in_flight;
    per_operation("power.l2", steady_load(nvml, seconds, ReadLoop{data, trip, true}, all, trip * 16.0),
                  "every SM accesses its own 128 KiB");
    const std::size_t part = buffer.size() / 16 / static_cast<std::size_t>(units) / trip * trip;
    per_operation("power.hbm",
                  steady_load(nvml, seconds, ReadLoop{data, part, true}, all, static_cast<double>(part) * 16), "2 GiB");
  }
  if (bench.hopper()) measure_tensor_power(bench, nvml, seconds, awake, curves);
  curves.finish(bench);
}

}  // namespace tilescope::validate
