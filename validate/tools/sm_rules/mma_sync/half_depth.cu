// mma.sync m16n8k8 beside m16n8k16: clocks, chains, what other pipes take from it, with operands from shared memory,
// energy; and operations of PyTorch's memory-efficient attention that no other microbenchmark has: multiply-adds of
// integers, atomic maxima in shared memory, long straight code.
//   for f in validate/microbench/bench validate/microbench/load validate/measure/nvml; do
//     g++ -std=c++20 -O2 -I. -Isrc -I/usr/local/cuda/include -c $f.cpp; done
//   nvcc -std=c++20 -O3 -arch=sm_90a -I. -Isrc --extended-lambda -o half_depth bench.o load.o nvml.o
//     validate/measure/device_work.cu validate/tools/sm_rules/mma_sync/half_depth.cu -ldl && ./half_depth
// Prints a line a case: clocks, where nothing else is said.
#include <cuda_fp16.h>

#include <cstdio>
#include <type_traits>

#include "validate/microbench/sm/beside.cuh"
#include "validate/microbench/sm/mma.cuh"
#include "validate/microbench/steady.cuh"
namespace tilescope::validate {
namespace {
#define OPS8 "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
#define K16(name, shape)                                                                                            \
  struct name {                                                                                                     \
    static constexpr bool emulated = false;                                                                         \
    static constexpr int k = 16;                                                                                    \
    static __device__ __forceinline__ void step(unsigned (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) { \
      asm volatile("mma.sync.aligned." shape " " TILESCOPE_MMA_OPERANDS                                             \
                   : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                                                 \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                             \
    }                                                                                                               \
  };
#define K8(name, shape)                                                                                             \
  struct name {                                                                                                     \
    static constexpr bool emulated = false;                                                                         \
    static constexpr int k = 8;                                                                                     \
    static __device__ __forceinline__ void step(unsigned (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) { \
      asm volatile("mma.sync.aligned." shape " " OPS8                                                               \
                   : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                                                 \
                   : "r"(a[0]), "r"(a[1]), "r"(b[0]));                                                              \
    }                                                                                                               \
  };
K16(F16k16, "m16n8k16.row.col.f32.f16.f16.f32")
K16(B16k16, "m16n8k16.row.col.f32.bf16.bf16.f32")
K8(F16k8, "m16n8k8.row.col.f32.f16.f16.f32")
K8(B16k8, "m16n8k8.row.col.f32.bf16.bf16.f32")

void out(const char* name, double v) {
  std::printf("%-60s %.5g\n", name, v);
  std::fflush(stdout);
}
void out(const std::string& name, double v) { out(name.c_str(), v); }
template <class B>
double clocks(const Microbench& b, B body, int blocks, int threads, int shared = 0, int rounds = 10) {
  return median_of(cycles_per_round(b, body, {blocks, threads, shared}, rounds));
}
template <class M, int chains>
void interval(const Microbench& b, const char* name, int warps) {
  using S = MmaStream<M, chains>;
  const double c = clocks(b, S{}, b.units(), 32 * warps);
  out(std::string(name) + " interval, warps/SM " + std::to_string(warps) + " chains " + std::to_string(chains),
      c * 4.0 / warps / (chains * S::steps) * (warps < 4 ? warps / 4.0 : 1));
}
template <class M>
void mma(const Microbench& b, const char* name) {
  out(std::string(name) + " latency, one warp", clocks(b, MmaStream<M, 1>{}, 1, 32, 0, 20) / 64);
  for (int warps : {4, 8, 16})
    interval<M, 1>(b, name, warps), interval<M, 2>(b, name, warps), interval<M, 4>(b, name, warps),
        interval<M, 8>(b, name, warps);
}
// As beside.cu, for any shape.
template <class M, class Operation, int operations, int chains, int sums>
struct Mixed {
  bool products, pipe;
  unsigned y = 0x3f000000u;
  static constexpr int steps = 32;
  static constexpr bool two = std::is_same_v<Operation, operation::Max>;
  template <bool wp, bool wq>
  __device__ __forceinline__ void round(unsigned (&c)[sums][4], const unsigned (&a)[4], const unsigned (&b)[2][2],
                                        unsigned (&x)[chains], const unsigned (&z)[16]) const {
#pragma unroll
    for (int step = 0; step < steps; ++step) {
#pragma unroll
      for (int i = 2 * step; wp && i < 2 * step + 2; ++i) M::step(c[i % sums], a, b[i % 2]);
#pragma unroll
      for (int i = step * operations / steps; wq && i < (step + 1) * operations / steps; ++i)
        Operation::step(x[i % chains], two ? z[step % 16] : y);
    }
  }
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    unsigned c[sums][4], x[chains], z[16];
    const unsigned a[4] = {threadIdx.x % 32, 2, 3, 4},
                   b[2][2] = {{0x3c003c00u, 0x3c003c00u}, {0x3c003c00u, 0x3c003c00u}};
    start_pipe(x), start_pipe(z);
    for (int i = 0; i < sums; ++i)
      for (int j = 0; j < 4; ++j) c[i][j] = 0;
    watch.start();
#pragma unroll 1
    for (int done = 0; done < rounds; ++done) {
      if (products && pipe) round<true, true>(c, a, b, x, z);
      else if (products) round<true, false>(c, a, b, x, z);
      else round<false, true>(c, a, b, x, z);
    }
    watch.stop();
    unsigned all = all_of(x) ^ all_of(z);
    for (int i = 0; i < sums; ++i) all ^= all_of(c[i]);
    return all;
  }
};
template <class M, class O, int operations, int chains, int sums>
double held(const Microbench& b) {
  using B = Mixed<M, O, operations, chains, sums>;
  const double p = clocks(b, B{true, false}, b.units(), 512), q = clocks(b, B{false, true}, b.units(), 512),
               both = clocks(b, B{true, true}, b.units(), 512);
  std::printf("   products %.1f pipe %.1f both %.1f\n", p, q, both);
  return (both - p) / q;
}
template <class M, class O, int operations>
void beside(const Microbench& b, const char* name) {
  std::vector<double> v{held<M, O, operations, 8, 8>(b), held<M, O, operations, 16, 8>(b),
                        held<M, O, operations, 8, 16>(b), held<M, O, operations, 16, 16>(b)};
  out(std::string(name) + " held, median of four arrangements", median_of(v));
}
// The inner loop of the kernel's products: 8 ldmatrix.x4 and 32 products a pass, 4 blocks of 4 warps.
template <class M>
struct Fed {
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    unsigned c[8][4] = {}, a[2][4], b[2][4];
    const unsigned at = address_of(shared) + threadIdx.x % 32 * 16 + threadIdx.x / 32 * 512;
    for (unsigned i = threadIdx.x; i < 16384 / 4; i += blockDim.x) reinterpret_cast<unsigned*>(shared)[i] = 0x38003800u;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round)
#pragma unroll
      for (int s = 0; s < 4; ++s) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(a[s % 2][0]), "=r"(a[s % 2][1]), "=r"(a[s % 2][2]), "=r"(a[s % 2][3])
                     : "r"(at ^ (s * 2048)));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(b[s % 2][0]), "=r"(b[s % 2][1]), "=r"(b[s % 2][2]), "=r"(b[s % 2][3])
                     : "r"(at ^ (s * 2048 + 8192)));
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const unsigned bb[2] = {b[(s + 1) % 2][i / 2], b[(s + 1) % 2][i % 4]};
          M::step(c[i], a[(s + 1) % 2], bb);
        }
      }
    watch.stop();
    unsigned all = 0;
    for (int i = 0; i < 8; ++i) all ^= all_of(c[i]);
    return all;
  }
};
// Operations without a rate.
struct Imad {
  static __device__ __forceinline__ void step(unsigned& x, unsigned y) {
    asm volatile("mad.lo.s32 %0, %0, %1, %1;" : "+r"(x) : "r"(y));
  }
};
struct Sel {
  static __device__ __forceinline__ void step(unsigned& x, unsigned y) {
    asm volatile("{.reg .pred p; setp.gt.s32 p, %0, 5; selp.b32 %0, %0, %1, p;}" : "+r"(x) : "r"(y));
  }
};
template <class O, int chains>
struct Pipe {
  unsigned y = 3;
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    unsigned x[chains];
    start_pipe(x);
    watch.start();
#pragma unroll 1
    for (int r = 0; r < rounds; ++r) run_pipe<O, 128>(x, y);
    watch.stop();
    return all_of(x);
  }
};
// red.shared.max: `same` lanes share an address.
template <int same, bool wait>
struct SharedMax {
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    const unsigned at = address_of(shared) + threadIdx.x / 32 * 128 + threadIdx.x % 32 / same * 4;
    reinterpret_cast<unsigned*>(shared)[threadIdx.x] = 0;
    unsigned x = threadIdx.x;
    watch.start();
#pragma unroll 1
    for (int r = 0; r < rounds; ++r)
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        asm volatile("red.shared.max.s32 [%0], %1;" ::"r"(at), "r"(x) : "memory");
        if (wait) asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
        else x += 3;
      }
    watch.stop();
    return x;
  }
};
struct LoadOnly {
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    unsigned at = address_of(shared) + threadIdx.x * 4;
    *reinterpret_cast<unsigned*>(shared + threadIdx.x * 4) = at;
    watch.start();
#pragma unroll 1
    for (int r = 0; r < rounds; ++r)
#pragma unroll
      for (int i = 0; i < 16; ++i) asm volatile("ld.volatile.shared.u32 %0, [%0];" : "+r"(at)::"memory");
    watch.stop();
    return at;
  }
};
// Straight code of `count` instructions a pass, half fp32 and half integer, four chains each.
template <int count>
struct Straight {
  unsigned y = 3;
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    unsigned x[4], z[4];
    start_pipe(x);
    start_pipe(z);
    watch.start();
#pragma unroll 1
    for (int r = 0; r < rounds; ++r)
#pragma unroll
      for (int i = 0; i < count / 2; ++i) operation::Ffma::step(x[i % 4], y), operation::Prmt::step(z[i % 4], y);
    watch.stop();
    return all_of(x) ^ all_of(z);
  }
};
template <int count>
void straight(const Microbench& b) {
  for (int warps : {1, 4, 8, 16})
    out("straight code of " + std::to_string(count) + " instructions, warps " + std::to_string(warps) +
            ": clk an instruction",
        clocks(b, Straight<count>{}, b.units(), 32 * warps, 0, 10) / count);
}
// Energy.
__device__ float normal(unsigned i) {
  unsigned a = i * 2654435761u + 12345u, b = a ^ 0x9e3779b9u;
  a ^= a >> 15, a *= 0x85ebca6bu, a ^= a >> 13;
  b ^= b >> 16, b *= 0xc2b2ae35u, b ^= b >> 15;
  const float u = (static_cast<float>(a >> 8) + 1.0f) * 0x1p-24f, v = static_cast<float>(b >> 8) * 0x1p-24f;
  return sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
}
__device__ unsigned packed(unsigned i) {
  const __half2 h = __floats2half2_rn(normal(2 * i), normal(2 * i + 1));
  return *reinterpret_cast<const unsigned*>(&h);
}
template <class M>
struct RegisterProducts {
  static constexpr int threads = 512, chains = 8, sets = 4, steps = 8;
  static constexpr double flop = 2.0 * 16 * 8 * M::k * steps * chains * threads / 32;
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    unsigned a[sets][4], b[sets][2], c[chains][4] = {}, at = (blockIdx.x * threads + threadIdx.x) * 32;
    for (int s = 0; s < sets; ++s) {
      for (int i = 0; i < 4; ++i) a[s][i] = packed(at++);
      for (int i = 0; i < 2; ++i) b[s][i] = packed(at++);
    }
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round)
#pragma unroll
      for (int step = 0; step < steps; ++step)
#pragma unroll
        for (int i = 0; i < chains; ++i) M::step(c[i], a[(i + step) % sets], b[(i / 2 + step) % sets]);
    watch.stop();
    unsigned all = 0;
    for (int i = 0; i < chains; ++i) all ^= all_of(c[i]);
    return all;
  }
};
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
template <class M>
void energy(const Microbench& b, const Nvml& nvml, const char* name) {
  using B = RegisterProducts<M>;
  for (int eighths : {1, 3, 8}) {
    const LoadResult r = steady_load(nvml, 2.0, B{}, {b.units() * eighths / 8, B::threads, 0}, B::flop);
    std::printf("%-40s on %d/8 of the SMs: %.1f W, %.1f MHz, %.4g FLOP/s\n", name, eighths, r.watts, r.clock_hz / 1e6,
                r.operations_per_second);
    std::fflush(stdout);
  }
}
}  // namespace
}  // namespace tilescope::validate
int main() {
  using namespace tilescope::validate;
  cudaDeviceProp p{};
  check_cuda(cudaGetDeviceProperties(&p, 0), "properties");
  std::printf("%s, %d SMs\n", p.name, p.multiProcessorCount);
  const Microbench b(p.multiProcessorCount, true, false);
  mma<F16k16>(b, "fp16 m16n8k16"), mma<F16k8>(b, "fp16 m16n8k8"), mma<B16k16>(b, "bf16 m16n8k16"),
      mma<B16k8>(b, "bf16 m16n8k8");
  beside<F16k16, operation::Ex2, 32>(b, "k16 ex2"), beside<F16k16, operation::Ffma, 64>(b, "k16 ffma"),
      beside<F16k16, operation::Max, 64>(b, "k16 max"), beside<F16k16, operation::Lop3, 64>(b, "k16 lop3");
  beside<F16k8, operation::Ex2, 32>(b, "k8 ex2"), beside<F16k8, operation::Ffma, 64>(b, "k8 ffma"),
      beside<F16k8, operation::Max, 64>(b, "k8 max"), beside<F16k8, operation::Lop3, 64>(b, "k8 lop3");
  for (int w : {4, 8, 16, 32})
    out("8 ldmatrix, 32 k8, warps " + std::to_string(w), clocks(b, Fed<F16k8>{}, b.units(), 32 * w, 32768, 20)),
        out("8 ldmatrix, 32 k16, warps " + std::to_string(w), clocks(b, Fed<F16k16>{}, b.units(), 32 * w, 32768, 20));
  out("mad.lo.s32, clk a warp instruction and scheduler", clocks(b, Pipe<Imad, 8>{}, b.units(), 1024) / 128 / 8);
  out("setp + selp, the same", clocks(b, Pipe<Sel, 8>{}, b.units(), 1024) / 128 / 8);
  out("ld.shared chain, clk", clocks(b, LoadOnly{}, b.units(), 32, 4096) / 16);
  out("red.shared.max then ld, distinct addresses, clk", clocks(b, SharedMax<1, true>{}, b.units(), 32, 4096) / 16);
  out("red.shared.max then ld, 4 lanes an address, clk", clocks(b, SharedMax<4, true>{}, b.units(), 32, 4096) / 16);
  out("red.shared.max, distinct, clk an SM and warp instruction (16 warps)",
      clocks(b, SharedMax<1, false>{}, b.units(), 512, 4096) / 16 / 16);
  out("red.shared.max, 4 lanes an address, the same", clocks(b, SharedMax<4, false>{}, b.units(), 512, 4096) / 16 / 16);
  straight<128>(b), straight<256>(b), straight<512>(b), straight<1024>(b), straight<2048>(b), straight<4096>(b),
      straight<8192>(b);
  char bus[32] = "";
  check_cuda(cudaDeviceGetPCIBusId(bus, sizeof bus, 0), "bus");
  const Nvml nvml(bus);
  if (nvml.energy_j()) {
    const LoadResult awake = steady_load(nvml, 2.0, Awake{}, {b.units(), 32, 0}, 1);
    std::printf("busy: %.1f W\n", awake.watts);
    energy<F16k16>(b, nvml, "k16"), energy<F16k8>(b, nvml, "k8");
  }
  return 0;
}
