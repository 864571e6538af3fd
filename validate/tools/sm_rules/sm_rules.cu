// Rules of the simulated SM: taken branches, wgmma under way, wgmma beside copies, which warp a pipe serves first.
//   nvcc -std=c++20 -O3 -arch=sm_90a -I kernels -o sm_rules validate/tools/sm_rules/sm_rules.cu &&
//   ./sm_rules
// Prints a line a case: clocks.
#include <algorithm>
#include <vector>

#include "set_up.cuh"

// ---- branches ----
// 16 blocks of code that a predicate skips (`taken`) or not; `mode` 0: uniform predicate from a parameter, 1: one of
// the thread.
template <int mode>
__global__ void branches(int zero, int rounds, unsigned* out) {
  __shared__ unsigned area[64];
  const int skip = mode == 0 ? zero : zero + (static_cast<int>(threadIdx.x) >> 30);
  unsigned x = threadIdx.x;
  const std::uint32_t at = shared_at(area);
  const unsigned t0 = now();
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      if (skip != i - 100 - r) {  // never equal for zero = 0: a branch over what follows
        asm volatile("" ::: "memory");
      } else {
#pragma unroll
        for (int j = 0; j < 12; ++j)
          asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(at + 4 * j), "r"(x + i * j) : "memory");
      }
      asm volatile("add.u32 %0, %0, 1;" : "+r"(x));
    }
  }
  const unsigned t1 = now();
  if (threadIdx.x % 32 == 0) out[blockIdx.x * 64 + threadIdx.x / 32] = t1 - t0;
  if (x == 12345) out[0] = x;
}
// The same without branches.
__global__ void no_branches(int, int rounds, unsigned* out) {
  unsigned x = threadIdx.x;
  const unsigned t0 = now();
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int i = 0; i < 16; ++i) asm volatile("add.u32 %0, %0, 1;" : "+r"(x));
  }
  const unsigned t1 = now();
  if (threadIdx.x % 32 == 0) out[blockIdx.x * 64 + threadIdx.x / 32] = t1 - t0;
  if (x == 12345) out[0] = x;
}

// ---- products in a queue ----
// A round: `first` products m64 n(S) from shared memory, a group; `second` m64 n(O) with A in registers, a group; waits
// for the first and then for the second. Clocks after each part. `copy`: another warpgroup copies from global to shared
// memory meanwhile.
template <int S, int first, int O, int second, bool copy>
__global__ void __launch_bounds__(256, 1) products(int rounds, const unsigned char* from, unsigned* out, int chunk) {
  extern __shared__ __align__(1024) unsigned char dynamic[];
  __shared__ __align__(8) unsigned long long full[4];
  __shared__ volatile int done;
  unsigned char* base = dynamic + ((1024 - (shared_at(dynamic) & 1023)) & 1023);
  const std::uint32_t at = shared_at(base);
  for (unsigned i = threadIdx.x; i < 96 * 1024 / 4; i += blockDim.x) reinterpret_cast<unsigned*>(base)[i] = 0x2c002c00u;
  if (threadIdx.x == 0) {
    done = 0;
    for (int i = 0; i < 4; ++i) init_barrier(shared_at(&full[i]), 1);
    fence_barrier_init();
  }
  fence_async_proxy();
  __syncthreads();
  if (threadIdx.x >= 128) {
    if (copy && threadIdx.x == 128) {
      const unsigned t0 = now();
      unsigned long long bytes = 0;
      unsigned n = 0;
      for (; done == 0; ++n) {
        const int slot = n % 4;
        if (n >= 4) wait_barrier(shared_at(&full[slot]), (n / 4 - 1) & 1);
        arrive_expect(shared_at(&full[slot]), chunk);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         at + 96 * 1024 + slot * 16384),
                     "l"(from + (n % 16) * 16384), "r"(chunk), "r"(shared_at(&full[slot]))
                     : "memory");
        bytes += chunk;
      }
      for (unsigned k = n < 4 ? 0 : n - 4; k < n; ++k) wait_barrier(shared_at(&full[k % 4]), (k / 4) & 1);
      const unsigned t1 = now();
      out[blockIdx.x * 16 + 8] = t1 - t0, out[blockIdx.x * 16 + 9] = static_cast<unsigned>(bytes / 16);
    }
    return;
  }
  float s[S / 2], o[O / 2];
  for (float& each : s) each = 0;
  for (float& each : o) each = 0;
  std::uint32_t p[4] = {0x2c002c00u + threadIdx.x, 0x2c012c00u, 0x2c002c03u, 0x2c012c05u};
  const std::uint64_t a = k_major(at), b = k_major(at + 16384), v = k_major(at + 49152);
  unsigned sum[5] = {};
  const unsigned start = now();
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    pin(s), pin(o);
    const unsigned t0 = now();
    fence_operands();
#pragma unroll
    for (int i = 0; i < first; ++i)
      Wgmma<S>::template ss<__half>(s, step_descriptor(a, i % 4 * 32), step_descriptor(b, i % 4 * 32), i > 0);
    commit_products();
    const unsigned t1 = now();
    if constexpr (second > 0) {
      fence_operands();
#pragma unroll
      for (int i = 0; i < second; ++i) Wgmma<O>::template rs<__half>(o, p, step_descriptor(v, i % 4 * 32), 1);
      commit_products();
    }
    const unsigned t2 = now();
    wait_products<(second > 0 ? 1 : 0)>();
    pin(s);
    const unsigned t3 = now();
    wait_products<0>();
    pin(o);
    const unsigned t4 = now();
    sum[0] += t1 - t0, sum[1] += t2 - t1, sum[2] += t3 - t2, sum[3] += t4 - t3;
  }
  const unsigned end = now();
  if (threadIdx.x == 0) done = 1;
  float all = 0;
  for (float each : s) all += each;
  for (float each : o) all += each;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4; ++i) out[blockIdx.x * 16 + i] = sum[i];
    out[blockIdx.x * 16 + 4] = end - start;
  }
  if (all == 1.2345f) out[0] = 7;
}

// ---- which warp a pipe serves ----
// Two warps a scheduler (or four) run `count` operations each; the clock at which each ends.
template <int kind>
__global__ void served(int count, unsigned* out) {
  float x[8];
  for (int i = 0; i < 8; ++i) x[i] = threadIdx.x * 0.001f + i;
  __syncthreads();
  const unsigned t0 = now();
#pragma unroll 1
  for (int r = 0; r < count; ++r) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (kind == 0) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[i]));
      if (kind == 1) asm volatile("max.f32 %0, %0, %1;" : "+f"(x[i]) : "f"(x[(i + 1) % 8]));
      if (kind == 2) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(x[i]));
      if (kind == 3) {
        asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[i]));
        asm volatile("add.f32 %0, %0, %1;" : "+f"(x[i]) : "f"(x[(i + 1) % 8]));
      }
    }
  }
  const unsigned t1 = now();
  float all = 0;
  for (float each : x) all += each;
  if (threadIdx.x % 32 == 0) out[blockIdx.x * 64 + threadIdx.x / 32] = t1 - t0;
  if (all == 1.2345f) out[0] = 7;
}

unsigned* out;
unsigned char* source;
std::vector<unsigned> host(1 << 16);
void fetch() {
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(host.data(), out, host.size() * 4, cudaMemcpyDeviceToHost));
}

template <int S, int first, int O, int second>
void queue_case() {
  constexpr int rounds = 500, bytes = 170 * 1024;
  const auto print = [&](const char* name) {
    fetch();
    std::printf(
        "products ss n%d x%d, rs n%d x%d, %-22s: issue ss %7.1f issue rs %7.1f wait ss %7.1f wait rs %7.1f round %8.1f",
        S, first, O, second, name, host[0] / double(rounds), host[1] / double(rounds), host[2] / double(rounds),
        host[3] / double(rounds), host[4] / double(rounds));
    if (host[8] > 0) std::printf("  copies %.1f B/clk", host[9] * 16.0 / host[8]);
    std::printf("\n");
  };
  for (int grid : {1, 132}) {
    auto lone = products<S, first, O, second, false>;
    CHECK(cudaFuncSetAttribute(lone, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    CHECK(cudaMemset(out, 0, host.size() * 4));
    for (int i = 0; i < 2; ++i) lone<<<grid, 256, bytes>>>(rounds, source, out, 0);
    print(grid == 1 ? "alone" : "alone, all SMs");
    auto beside = products<S, first, O, second, true>;
    CHECK(cudaFuncSetAttribute(beside, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    for (int chunk : {2048, 16384}) {
      CHECK(cudaMemset(out, 0, host.size() * 4));
      for (int i = 0; i < 2; ++i) beside<<<grid, 256, bytes>>>(rounds, source, out, chunk);
      char name[64];
      std::snprintf(name, sizeof name, "copies of %d%s", chunk, grid == 1 ? "" : ", all SMs");
      print(name);
    }
  }
}

template <int kind>
void served_case(const char* name) {
  for (int warps : {4, 8, 12, 16}) {
    CHECK(cudaMemset(out, 0, host.size() * 4));
    for (int i = 0; i < 2; ++i) served<kind><<<1, warps * 32>>>(2000, out);
    fetch();
    std::printf("served %s, warps of scheduler 0 end at:", name);
    for (int w = 0; w < warps; w += 4) std::printf(" %u", host[w]);
    std::printf("\n");
  }
}

int main() {
  CHECK(cudaMalloc(&out, host.size() * 4));
  CHECK(cudaMalloc(&source, 1 << 20));
  CHECK(cudaMemset(source, 0, 1 << 20));
  cudaDeviceProp prop{};
  CHECK(cudaGetDeviceProperties(&prop, 0));
  std::printf("%s, %d SMs\n", prop.name, prop.multiProcessorCount);
  for (int warps : {1, 4}) {
    constexpr int rounds = 2000;
    const auto each = [&](const char* name) {
      fetch();
      std::printf("%s, %d warps: %.2f clk a round of 16\n", name, warps, host[0] / double(rounds));
    };
    for (int i = 0; i < 2; ++i) no_branches<<<1, warps * 32>>>(0, rounds, out);
    each("no branches");
    for (int i = 0; i < 2; ++i) branches<0><<<1, warps * 32>>>(0, rounds, out);
    each("branches, uniform");
    for (int i = 0; i < 2; ++i) branches<1><<<1, warps * 32>>>(0, rounds, out);
    each("branches, of a thread");
  }
  served_case<0>("ex2"), served_case<1>("max"), served_case<2>("ffma"), served_case<3>("ex2 and fadd");
  queue_case<64, 32, 16, 0>();
  queue_case<64, 8, 128, 4>();
  queue_case<128, 8, 128, 8>();
  queue_case<176, 8, 128, 11>();
  queue_case<48, 16, 256, 3>();
  queue_case<80, 16, 256, 5>();
  queue_case<128, 4, 64, 8>();
  queue_case<16, 1, 128, 32>();
  queue_case<128, 32, 16, 0>();
  queue_case<256, 32, 16, 0>();
}
