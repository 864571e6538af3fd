// Clocks from an instruction of variable latency (tracked by a scoreboard) to one that reads its result, or that
// overwrites its operand.
#include "validate/microbench/memory/span.cuh"

namespace tilescope::validate {
namespace {

constexpr int latency_steps = 64;

// Each lane's next row address is its word of the last matrices, as the first matrix holds the lanes' own addresses.
struct LoadMatrices {
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    unsigned at = address_of(shared) + threadIdx.x * 16;
    for (int i = 0; i < 4; ++i) reinterpret_cast<unsigned*>(shared)[threadIdx.x + 32 * i] = at;
    watch.start();
    unsigned b, c, d;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round)
#pragma unroll
      for (int i = 0; i < latency_steps; ++i)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%0];"
                     : "+r"(at), "=r"(b), "=r"(c), "=r"(d)::"memory");
    watch.stop();
    return at ^ b ^ c ^ d;
  }
};

// Four words, the first of which is the address of the next four: the same for all lanes.
struct WideLoad {
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    unsigned at = address_of(shared), b, c, d;
    if (threadIdx.x == 0) *reinterpret_cast<unsigned*>(shared) = at;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round)
#pragma unroll
      for (int i = 0; i < latency_steps; ++i)
        asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%0];" : "+r"(at), "=r"(b), "=r"(c), "=r"(d)::"memory");
    watch.stop();
    return at ^ b ^ c ^ d;
  }
};

struct TransposeMatrix {
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    unsigned x = threadIdx.x;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round)
#pragma unroll
      for (int i = 0; i < latency_steps; ++i) asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(x));
    watch.stop();
    return x;
  }
};

// The value of each parameter word is the offset of the next one, so that loads depend on each other.
struct LoadConstant {
  unsigned offsets[16];
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    unsigned at = threadIdx.x % 16 * 0;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round)
#pragma unroll
      for (int i = 0; i < latency_steps; ++i)
        at = *reinterpret_cast<const unsigned*>(reinterpret_cast<const char*>(offsets) + at);
    watch.stop();
    return at;
  }
};

// A register that each loop iteration overwrites, either after a store to shared memory has read it or without a store.
template <bool stores>
struct WriteInPlace {
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    const unsigned at = address_of(shared) + threadIdx.x * 4;
    unsigned x = threadIdx.x;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds * latency_steps; ++round) {
      if constexpr (stores)
        asm volatile("st.volatile.shared.u32 [%1], %0; lop3.b32 %0, %0, %1, 0x5a5a5a5a, 0x6a;"
                     : "+r"(x)
                     : "r"(at)
                     : "memory");
      else asm volatile("lop3.b32 %0, %0, %1, 0x5a5a5a5a, 0x6a;" : "+r"(x) : "r"(at));
    }
    watch.stop();
    return x;
  }
};

template <class Body>
std::vector<double> step_of(const Microbench& bench, const Body& body) {
  return scaled(cycles_per_round(bench, body, {1, 32, 512}, 20), 1.0 / latency_steps);
}

}  // namespace

void measure_latencies(Microbench& bench) {
  bench.add("chains.ldmatrix", step_of(bench, LoadMatrices{}), "x4, one warp, each address from the previous load");
  bench.add("smem.latency_wide", step_of(bench, WideLoad{}), "16 bytes a lane at one address, one warp");
  bench.add("chains.movmatrix", step_of(bench, TransposeMatrix{}), "one warp");
  LoadConstant constants{};
  for (unsigned i = 0; i < 16; ++i) constants.offsets[i] = (i + 1) % 16 * 4;
  bench.add("chains.constant", step_of(bench, constants),
            "one warp, all lanes load a kernel parameter; its offset is the previous value");
  const double without = median_of(step_of(bench, WriteInPlace<false>{}));
  std::vector<double> waits = step_of(bench, WriteInPlace<true>{});
  // With the store, the machine code's stall counts put 7 clocks of other instructions between it and the write. The
  // stall counts of both loops add up to the same, so the difference in time is the write's additional wait.
  for (double& sample : waits) sample += 7 - without;
  bench.add("chains.operands_read", waits,
            "one warp: a loop that overwrites a register, with a store of it to shared memory 7 clk before, minus the "
            "loop without the store");
}

}  // namespace tilescope::validate
