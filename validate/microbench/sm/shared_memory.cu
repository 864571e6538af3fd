// Shared memory: bytes per clock without bank conflicts, latency, and the bandwidth of ldmatrix and cp.async.
#include "validate/microbench/memory/span.cuh"

namespace tilescope::validate {
namespace {

constexpr int bytes = 32 * 1024, shared_steps = 16;

// 4, 8 or 16 bytes per thread. A warp's bytes are consecutive; each step reads those of another warp.
template <int width>
__device__ __forceinline__ void load(unsigned (&v)[width / 4], unsigned at) {
  if constexpr (width == 4) {
    asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(v[0]) : "r"(at));
  } else if constexpr (width == 8) {
    asm volatile("ld.volatile.shared.v2.u32 {%0,%1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(at));
  } else {
    asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(at));
  }
}

template <int width>
__device__ __forceinline__ void store(unsigned at, unsigned v) {
  if constexpr (width == 4) asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(at), "r"(v) : "memory");
  else if constexpr (width == 8) asm volatile("st.volatile.shared.v2.u32 [%0], {%1,%1};" ::"r"(at), "r"(v) : "memory");
  else asm volatile("st.volatile.shared.v4.u32 [%0], {%1,%1,%1,%1};" ::"r"(at), "r"(v) : "memory");
}

template <int width>
struct Loads {
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    for (unsigned i = threadIdx.x; i < bytes / 4; i += blockDim.x) reinterpret_cast<unsigned*>(shared)[i] = i;
    const unsigned at = address_of(shared) + threadIdx.x * width;
    unsigned x = 0;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      unsigned v[shared_steps][width / 4];
#pragma unroll
      for (int step = 0; step < shared_steps; ++step) {
        load<width>(v[step], at + step * 512);
        x ^= v[step][0];
      }
    }
    watch.stop();
    return x;
  }
};

template <int width>
struct Stores {
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    const unsigned at = address_of(shared) + threadIdx.x * width;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int step = 0; step < shared_steps; ++step) store<width>(at + step * 512, threadIdx.x);
    }
    watch.stop();
    return at;
  }
};

struct Matrices {
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    for (unsigned i = threadIdx.x; i < bytes / 4; i += blockDim.x) reinterpret_cast<unsigned*>(shared)[i] = i;
    const unsigned at = address_of(shared) + threadIdx.x * 16;
    unsigned x[4] = {}, other = 0;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int step = 0; step < shared_steps; ++step) {
        unsigned v[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                     : "r"(at + step * 512 + other)
                     : "memory");
        for (int i = 0; i < 4; ++i) x[i] ^= v[i];
      }
      other ^= 512;
    }
    watch.stop();
    return x[0] ^ x[1] ^ x[2] ^ x[3];
  }
};

// Each load returns the address of the next one.
struct Chase {
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    unsigned at = address_of(shared);
    if (threadIdx.x == 0)
      for (unsigned i = 0; i < 1024; ++i) reinterpret_cast<unsigned*>(shared)[i] = at + (i + 33) % 1024 * 4;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int step = 0; step < shared_steps; ++step) asm volatile("ld.volatile.shared.u32 %0, [%0];" : "+r"(at));
    }
    watch.stop();
    return at;
  }
};

// Copies of 16 bytes a thread from L2, two groups of them in flight.
struct Copies {
  const unsigned char* from;
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    const unsigned at = address_of(shared) + threadIdx.x * 16;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + round % 4 * 16384),
                   "l"(from + (round % 16) * 16384 + threadIdx.x * 16)
                   : "memory");
      asm volatile("cp.async.commit_group;\ncp.async.wait_group 3;" ::: "memory");
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    watch.stop();
    return reinterpret_cast<unsigned*>(shared)[threadIdx.x];
  }
};

}  // namespace

void measure_shared_memory(Microbench& bench) {
  const Shape all{bench.units(), 1024, bytes};
  const double warps = 32;
  const auto rate = [&](const auto& body, int width) {
    return inverse(cycles_per_round(bench, body, all, 100), warps * 32 * width * shared_steps);
  };
  bench.add("smem.load", rate(Loads<16>{}, 16), "16 B a thread, 32 warps");
  bench.add("smem.store", rate(Stores<16>{}, 16), "16 B a thread, 32 warps");
  bench.add_curve({"smem load by width",
                   "bytes a thread",
                   "B/clk a unit",
                   {{4, median_of(rate(Loads<4>{}, 4))},
                    {8, median_of(rate(Loads<8>{}, 8))},
                    {16, median_of(rate(Loads<16>{}, 16))}}});
  bench.add_curve({"smem store by width",
                   "bytes a thread",
                   "B/clk a unit",
                   {{4, median_of(rate(Stores<4>{}, 4))},
                    {8, median_of(rate(Stores<8>{}, 8))},
                    {16, median_of(rate(Stores<16>{}, 16))}}});
  bench.add("smem.latency", scaled(cycles_per_round(bench, Chase{}, {1, 32, bytes}, 100), 1.0 / shared_steps),
            "one thread");
  bench.add("smem.ldmatrix", scaled(cycles_per_round(bench, Matrices{}, all, 100), 1 / (warps * shared_steps)),
            "x4, 32 warps");
  const DeviceBuffer buffer(16 * 16384);
  check_cuda(cudaMemset(buffer.get(), 1, buffer.size()), "cudaMemset");
  const Copies copies{static_cast<const unsigned char*>(buffer.get())};
  bench.add("smem.cp_async", inverse(cycles_per_round(bench, copies, {1, 1024, 4 * 16384}, 500), 16384),
            "one SM, 32 warps, 4 copies of 16 B a thread in flight, from L2");
}

}  // namespace tilescope::validate
