// Rules of the simulated SM: one to four warps of a scheduler execute the same softmax steps, with or without products
// of mma.sync between them, on registers alone.
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I kernels -o steps_together
//   validate/tools/sm_rules/steps_together.cu && ./steps_together
// Prints a line a case: scores and accumulators of a thread, products for each accumulator of the scores (0: none),
// warps a scheduler; clocks of a pass.
#include <vector>

#include "softmax_step.cuh"

struct Args {
  int passes;
  float scale;
  unsigned* out;
};

__device__ __forceinline__ void product(float* d, const unsigned* a, unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <int scores, int accumulators, int depth>
__global__ void __launch_bounds__(512, 1) together(Args args) {
  Softmax<scores> softmax;
  float o[accumulators];
  unsigned q[4] = {0x2c002c00u + threadIdx.x, 0x2c012c00u, 0x2c002c03u, 0x2c012c05u};
  for (int i = 0; i < scores; ++i) softmax.s[i] = threadIdx.x * 0.001f + i * 0.01f;
  for (int i = 0; i < accumulators; ++i) o[i] = i;
  pin(softmax.s), pin(o);
  for (int i = 0; i < scores / 2; ++i) softmax.p[i] = 0x2c002c00u + i;
  unsigned t[2];
  for (int round = 0; round < 2; ++round) {
    __syncthreads();
    t[0] = now();
#pragma unroll 1
    for (int n = 0; n < args.passes; ++n) {
      if constexpr (depth > 0) {
#pragma unroll
        for (int k = 0; k < depth; ++k)
#pragma unroll
          for (int i = 0; i < scores; i += 4) product(softmax.s + i, q, q[k % 4], q[(k + 1) % 4]);
      }
      softmax.maxima();
      softmax.correct(args.scale);
      softmax.exponentials(args.scale);
      pin(softmax.s), pin(softmax.sum);
      softmax.convert();
#pragma unroll
      for (int i = 0; i < accumulators; ++i) o[i] = __fmul_rn(o[i], softmax.correction[i / 2 % rows]);
      pin(o);
      if constexpr (depth > 0) {
#pragma unroll
        for (int k = 0; k < scores / 8; ++k)
#pragma unroll
          for (int i = 0; i < accumulators; i += 4) product(o + i, softmax.p + k * 4, q[0], q[1]);
      }
    }
    t[1] = now();
  }
  float all = softmax.sum[0] + softmax.sum[1];
  for (const float each : softmax.s) all += each;
  for (const float each : o) all += each;
  if (all == 1.2345f) args.out[200] = 7;
  if (threadIdx.x % 128 == 0) args.out[threadIdx.x / 128] = t[1] - t[0];
}

unsigned* out;
std::vector<unsigned> host(256);

template <int scores, int accumulators, int depth>
void measure() {
  constexpr int passes = 200;
  for (int groups = 1; groups <= 4; ++groups) {
    CHECK(cudaMemset(out, 0, host.size() * 4));
    together<scores, accumulators, depth><<<1, 128 * groups>>>(Args{passes, 0.125f, out});
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host.data(), out, host.size() * 4, cudaMemcpyDeviceToHost));
    std::printf("K%d D%d depth %d, %d warps:", scores, accumulators, depth, groups);
    for (int g = 0; g < groups; ++g) std::printf(" %.1f", host[g] / double(passes));
    std::printf("\n");
  }
}

int main() {
  out = begin(host.size());
  measure<16, 32, 0>(), measure<32, 16, 0>(), measure<32, 32, 0>(), measure<48, 16, 0>();
  measure<16, 32, 4>(), measure<32, 16, 2>(), measure<32, 32, 4>(), measure<32, 32, 8>(), measure<48, 16, 4>();
}
