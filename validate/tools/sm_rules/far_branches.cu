// Rules of the simulated SM: what a taken branch costs by how far it goes and by how much code there is.
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -o far_branches validate/tools/sm_rules/far_branches.cu
//   ./far_branches
// A pass is J times S dependent multiply-adds and a branch over N others, which nothing executes. Prints a line a case:
// KiB of all code of a pass and of what is executed (estimated: 3 instructions a branch, 16 bytes each), clocks of a
// pass with and without the branches, and of one branch.
#include <cuda_runtime.h>

#include <cstdio>

template <int Count>
__device__ __forceinline__ void chain(float& x, float a, float b) {
#pragma unroll
  for (int i = 0; i < Count; ++i) x = fmaf(x, a, b);
}

template <int S, int N, int J>
__global__ void branches(float* out, long long* clocks, float a, float b, int never, int passes) {
  float x = static_cast<float>(threadIdx.x);
  long long start = 0;
  for (int pass = 0; pass < passes; ++pass) {
    if (pass == passes / 2) start = clock64();
#pragma unroll
    for (int j = 0; j < J; ++j) {
      chain<S>(x, a, b);
      if constexpr (N > 0) {
        int flag = never;
        asm volatile("" : "+r"(flag));
        if (flag) {
          chain<N>(x, b, a);
          asm volatile("" : "+f"(x));
        }
      }
    }
  }
  if (threadIdx.x == 0) clocks[blockIdx.x] = clock64() - start;
  out[threadIdx.x] = x;
}

template <int S, int N, int J>
double run(int threads) {
  float* out;
  long long* clocks;
  cudaMalloc(&out, 4096);
  cudaMalloc(&clocks, 8 * 1024);
  constexpr int passes = 400;
  branches<S, N, J><<<1, threads>>>(out, clocks, 0.5f, 1.f, 0, passes);
  branches<S, N, J><<<1, threads>>>(out, clocks, 0.5f, 1.f, 0, passes);
  long long all = 0;
  cudaMemcpy(&all, clocks, 8, cudaMemcpyDeviceToHost);
  if (const auto e = cudaGetLastError()) std::printf("%s\n", cudaGetErrorString(e));
  cudaFree(out), cudaFree(clocks);
  return static_cast<double>(all) / (passes - passes / 2);
}

template <int S, int N, int J>
void row() {
  const double code = (S + N + 3.0) * J * 16 / 1024;
  for (int threads : {32, 128, 512}) {
    const double with = run<S, N, J>(threads), without = run<S, 0, J>(threads);
    std::printf(
        "S %4d N %4d J %3d code %6.1f KiB executed %5.1f threads %4d: pass %9.1f, without branches %9.1f, a branch "
        "%6.1f\n",
        S, N, J, code, (S + 3.0) * J * 16 / 1024, threads, with, without, (with - without) / J);
  }
}

int main() {
  row<8, 12, 4>(), row<8, 12, 16>(), row<8, 64, 4>(), row<8, 64, 16>(), row<8, 256, 4>(), row<8, 256, 8>(),
      row<8, 512, 4>();
  row<32, 12, 4>(), row<32, 12, 16>(), row<32, 64, 16>(), row<32, 128, 16>();
  row<96, 12, 4>(), row<96, 12, 12>(), row<96, 64, 12>(), row<96, 128, 8>(), row<96, 12, 16>(), row<96, 64, 16>();
  row<200, 12, 4>(), row<200, 12, 8>(), row<200, 64, 8>();
}
