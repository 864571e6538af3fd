// Clocks of a scheduler for what compilers write as multiply-adds of integers (IMAD): products, moves, shifts.
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I kernels -o integers
//   validate/tools/sm_rules/integers.cu && ./integers
// Prints a line a case, of one and of four warps a scheduler: clocks of a round of the loop. `cuobjdump -sass` tells
// how many instructions of which kind are in it; of CUDA 13.0, beside an addition, a comparison and a branch: 128 FFMA;
// 128 IMAD; 128 IMAD; 14 IMAD.SHL, 2 SHF; 19 IMAD.MOV, 4 MOV; 128 FFMA, 128 IMAD; 256 FFMA, 128 IMAD. An IMAD is issued
// every other clock, an FFMA in between.
#include "set_up.cuh"

constexpr int chains = 16, rounds = 200, unrolled = 8, warp_threads = 32, schedulers = 4;
enum class Kind { fp32, product, wide, shift, move, one_and_one, two_and_one };

template <Kind kind>
__device__ __forceinline__ void operation(unsigned& x, unsigned next, float& f, float& g, unsigned a) {
  if constexpr (kind == Kind::fp32) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(f));
  if constexpr (kind == Kind::product) asm volatile("mad.lo.u32 %0, %0, %1, %1;" : "+r"(x) : "r"(a));
  if constexpr (kind == Kind::wide)
    asm volatile("{.reg .u64 t; mad.wide.u32 t, %0, %1, 5; cvt.u32.u64 %0, t;}" : "+r"(x) : "r"(a));
  if constexpr (kind == Kind::shift) asm volatile("shl.b32 %0, %0, 3;" : "+r"(x));
  if constexpr (kind == Kind::one_and_one)
    asm volatile("fma.rn.f32 %1, %1, %1, %1; mad.lo.u32 %0, %0, %2, %2;" : "+r"(x), "+f"(f) : "r"(a));
  if constexpr (kind == Kind::two_and_one)
    asm volatile("fma.rn.f32 %1, %1, %1, %1; fma.rn.f32 %2, %2, %2, %2; mad.lo.u32 %0, %0, %3, %3;"
                 : "+r"(x), "+f"(f), "+f"(g)
                 : "r"(a));
  if constexpr (kind == Kind::move) asm volatile("mov.b32 %0, %1;" : "=r"(x) : "r"(next));
}

template <Kind kind>
__global__ void run(unsigned* out, unsigned a) {
  unsigned x[chains];
  float f[chains];
  for (int i = 0; i < chains; ++i) x[i] = threadIdx.x * 7 + i * a, f[i] = x[i];
  __syncthreads();
  const unsigned from = now();
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int u = 0; u < unrolled; ++u)
#pragma unroll
      for (int i = 0; i < chains; ++i)
        operation<kind>(x[i], x[(i + 1) % chains], f[i], f[(i + chains / 2) % chains], a);
  }
  const unsigned clocks = now() - from;
  unsigned sum = 0;
  for (int i = 0; i < chains; ++i) sum += x[i] + __float_as_uint(f[i]);
  if (sum == 12345) out[1] = sum;
  if (threadIdx.x == 0) out[0] = clocks;
}

template <Kind kind>
void measure(const char* name, unsigned* out) {
  for (const int warps : {1, 4}) {
    unsigned clocks = 0;
    for (int i = 0; i < 2; ++i) run<kind><<<1, warps * schedulers * warp_threads>>>(out, 3);
    CHECK(cudaMemcpy(&clocks, out, sizeof clocks, cudaMemcpyDeviceToHost));
    std::printf("%-10s %d warps a scheduler: %.2f clk a round\n", name, warps, clocks / double(rounds * warps));
  }
}

int main() {
  unsigned* out = begin(2);
  measure<Kind::fp32>("fma.rn.f32", out), measure<Kind::product>("mad.lo", out), measure<Kind::wide>("mad.wide", out);
  measure<Kind::shift>("shl", out), measure<Kind::move>("mov", out);
  measure<Kind::one_and_one>("fma, mad", out), measure<Kind::two_and_one>("2 fma, mad", out);
  CHECK(cudaDeviceSynchronize());
}
