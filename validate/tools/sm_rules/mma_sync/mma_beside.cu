// Clocks of a scheduler for eight mma.sync a round beside other operations of the same warps; one, two and four warps a
// scheduler, which begin together.
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I kernels -o mma_beside
//   validate/tools/sm_rules/mma_sync/mma_beside.cu && ./mma_beside
// With four warps an operation costs the products a clock of its scheduler, whichever pipe it goes to (0.6 to 1.06),
// where the pipe itself does not bind; bound by the integer pipe, a product costs that pipe two.
#include "../set_up.cuh"

constexpr int rounds = 200, mmas = 8, warp_threads = 32, schedulers = 4;
enum class Kind { fmul, ffma, fadd, lop3, fmnmx, imad, mixed };

template <int k>
__device__ __forceinline__ void mma(float (&c)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,
                                    unsigned b1) {
  if constexpr (k == 8)
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a0), "r"(a1), "r"(b0));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

template <Kind kind>
__device__ __forceinline__ void op(float& f, unsigned& x, float y, unsigned z, int i) {
  if constexpr (kind == Kind::fmul) asm volatile("mul.rn.f32 %0, %0, %1;" : "+f"(f) : "f"(y));
  if constexpr (kind == Kind::ffma) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(f) : "f"(y));
  if constexpr (kind == Kind::fadd) asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(f) : "f"(y));
  if constexpr (kind == Kind::lop3) asm volatile("lop3.b32 %0, %0, %1, %1, 0x96;" : "+r"(x) : "r"(z));
  if constexpr (kind == Kind::fmnmx) asm volatile("max.f32 %0, %0, %1;" : "+f"(f) : "f"(y));
  if constexpr (kind == Kind::imad) asm volatile("mad.lo.u32 %0, %0, %1, %1;" : "+r"(x) : "r"(z));
  if constexpr (kind == Kind::mixed) {
    if (i % 2) asm volatile("mul.rn.f32 %0, %0, %1;" : "+f"(f) : "f"(y));
    else asm volatile("lop3.b32 %0, %0, %1, %1, 0x96;" : "+r"(x) : "r"(z));
  }
}

// `beside` operations for each of `n` products, behind it or all behind the last one (apart). The assembler of
// CUDA 13.0 puts both in nearly the same order: their clocks are within 2.4 %.
template <Kind kind, int k, int n, int beside, bool apart>
__global__ void __launch_bounds__(512) run(unsigned* out, unsigned a) {
  float c[mmas][4], f[16];
  unsigned x[16], r[6];
  for (int i = 0; i < mmas; ++i)
    for (int j = 0; j < 4; ++j) c[i][j] = threadIdx.x * j + i * a;
  for (int i = 0; i < 16; ++i) f[i] = threadIdx.x + i, x[i] = threadIdx.x * 7 + i;
  for (int i = 0; i < 6; ++i) r[i] = threadIdx.x + i * a;
  float y = a;
  unsigned z = a * 3;
  __syncthreads();
  const unsigned from = now();
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    int t = 0;
#pragma unroll
    for (int i = 0; i < n; ++i) {
      mma<k>(c[i], r[0], r[1], r[2], r[3], r[4], r[5]);
      if (!apart)
#pragma unroll
        for (int j = 0; j < beside; ++j, ++t) op<kind>(f[t % 16], x[t % 16], y, z, t);
    }
    if (apart)
#pragma unroll
      for (int j = 0; j < beside * n; ++j, ++t) op<kind>(f[t % 16], x[t % 16], y, z, t);
    if (n == 0)
#pragma unroll
      for (int j = 0; j < beside * mmas; ++j, ++t) op<kind>(f[t % 16], x[t % 16], y, z, t);
  }
  __syncthreads();
  const unsigned clocks = now() - from;
  float sum = 0;
  for (int i = 0; i < mmas; ++i)
    for (int j = 0; j < 4; ++j) sum += c[i][j];
  for (int i = 0; i < 16; ++i) sum += f[i] + x[i];
  if (sum == 12345) out[1] = sum;
  if (threadIdx.x == 0) out[0] = clocks;
}

template <Kind kind, int k, int n, int beside, bool apart>
void measure(const char* name, unsigned* out) {
  for (const int warps : {1, 2, 4}) {
    unsigned clocks = 0;
    for (int i = 0; i < 2; ++i) run<kind, k, n, beside, apart><<<1, warps * schedulers * warp_threads>>>(out, 3);
    CHECK(cudaMemcpy(&clocks, out, sizeof clocks, cudaMemcpyDeviceToHost));
    std::printf("%-6s k%-2d mma %d ops %2d %-7s %d warps: %.2f clk a round of a warp\n", name, k, n, beside * mmas,
                apart ? "apart" : "between", warps, clocks / double(rounds * warps));
  }
}
template <Kind kind>
void all(const char* name, unsigned* out) {
  measure<kind, 8, 0, 4, false>(name, out);
  measure<kind, 8, 8, 1, false>(name, out);
  measure<kind, 8, 8, 2, false>(name, out);
  measure<kind, 8, 8, 3, false>(name, out);
  measure<kind, 8, 8, 4, false>(name, out);
  measure<kind, 8, 8, 6, false>(name, out);
  measure<kind, 8, 8, 3, true>(name, out);
  measure<kind, 8, 8, 6, true>(name, out);
  measure<kind, 16, 8, 3, false>(name, out);
  measure<kind, 16, 8, 6, false>(name, out);
  measure<kind, 16, 8, 6, true>(name, out);
}
int main() {
  unsigned* out = begin(2);
  measure<Kind::fmul, 8, 8, 0, false>("alone", out);
  measure<Kind::fmul, 16, 8, 0, false>("alone", out);
  all<Kind::fmul>("fmul", out);
  all<Kind::ffma>("ffma", out);
  all<Kind::fadd>("fadd", out);
  all<Kind::lop3>("lop3", out);
  all<Kind::fmnmx>("fmnmx", out);
  all<Kind::imad>("imad", out);
  all<Kind::mixed>("mixed", out);
  CHECK(cudaDeviceSynchronize());
}
