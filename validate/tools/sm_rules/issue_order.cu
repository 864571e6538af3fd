// Rules of the simulated SM: which warp of a scheduler issues first.
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I kernels -o issue_order
//   validate/tools/sm_rules/issue_order.cu && ./issue_order
// One to three warps on a scheduler execute the same straight code, with a time stamp behind each `chunk` operations.
// They begin at one time, or each `apart` clocks behind the one before. Prints a case, and its stamps, a line a warp.
#include <vector>

#include "set_up.cuh"

constexpr int fill_bytes = 96 * 1024, stamps = 24;

enum Op { add, most, ex2, both, exps, mma, mma_add, ops };
constexpr const char* op_names[] = {
    "fadd", "max", "ex2", "fadd and max", "ffma, ex2, fadd", "mma.sync", "mma.sync and 4 fadd"};

template <int op, int i>
__device__ __forceinline__ void operate(float (&v)[16], float (&sum)[2]) {
  float& x = v[i % 16];
  if constexpr (op == add || (op == both && i % 2 == 0)) asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(x) : "f"(sum[0]));
  if constexpr (op == most || (op == both && i % 2 == 1)) asm volatile("max.f32 %0, %0, %1;" : "+f"(x) : "f"(sum[0]));
  if constexpr (op == ex2) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
  if constexpr (op == exps) {
    asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(sum[1]));
    asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
    asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(sum[i % 2]) : "f"(x));
  }
  if constexpr (op == mma || op == mma_add) {
    constexpr int at = i % 4 * 4;
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(v[at]), "+f"(v[at + 1]), "+f"(v[at + 2]), "+f"(v[at + 3])
        : "r"(0x2c002c00u), "r"(0x2c012c00u), "r"(0x2c002c03u), "r"(0x2c012c05u), "r"(0x2c002c00u), "r"(0x2c042c00u));
    if constexpr (op == mma_add) {
      asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(sum[0]) : "f"(1.5f));
      asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(sum[1]) : "f"(1.5f));
      asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(sum[0]) : "f"(2.5f));
      asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(sum[1]) : "f"(2.5f));
    }
  }
}
template <int op, int... i>
__device__ __forceinline__ void operate_all(float (&v)[16], float (&sum)[2], std::integer_sequence<int, i...>) {
  (operate<op, i>(v, sum), ...);
}

struct Args {
  int apart, batches;
  bool last_first;  // the last warpgroup begins first
  unsigned* out;
};

// Warpgroup 0 makes products of n columns without a pause (0: none, and it is one of the others).
template <int op, int chunk, int N>
__global__ void __launch_bounds__(512, 1) order(Args a) {
  extern __shared__ __align__(1024) unsigned char dynamic[];
  __shared__ volatile unsigned products;
  __shared__ unsigned begin;
  if (threadIdx.x == 0) products = 0;
  const std::uint32_t at = fill<fill_bytes>(dynamic);
  const int with = N > 0, group = static_cast<int>(threadIdx.x) / 128 - with,
            groups = static_cast<int>(blockDim.x) / 128 - with;
  if constexpr (N > 0) {
    if (group < 0) {
      multiply<N, false, __half>(at, a.batches, products, a.out + 1000);
      return;
    }
  }
  for (int round = 0; round < 3; ++round) {
    asm volatile("bar.sync 1, %0;" ::"r"(groups * 128) : "memory");
    if (threadIdx.x == with * 128) begin = now() + 3000;
    asm volatile("bar.sync 1, %0;" ::"r"(groups * 128) : "memory");
    const unsigned from = begin, own = from + (a.last_first ? groups - 1 - group : group) * a.apart;
    float v[16], sum[2] = {0, 1};
    for (int i = 0; i < 16; ++i) v[i] = threadIdx.x * 0.001f + i;
    pin(v);
    while (static_cast<int>(now() - own) < 0) {
    }
    unsigned t[stamps + 1];
    t[0] = now();
#pragma unroll
    for (int s = 0; s < stamps; ++s) {
      operate_all<op>(v, sum, std::make_integer_sequence<int, chunk>{});
      t[s + 1] = now();
    }
    float all = sum[0];
    for (const float each : v) all += each;
    if (all == 1.2345f) a.out[999] = 7;
    if (threadIdx.x % 128 == 0)
      for (int s = 0; s <= stamps; ++s) a.out[group * (stamps + 1) + s] = t[s] - from;
  }
}

unsigned* out;
std::vector<unsigned> host(1024);

template <int op, int chunk, int N>
void measure(int groups, int apart, bool last_first) {
  auto kernel = order<op, chunk, N>;
  constexpr int dynamic_bytes = fill_bytes + 2048, clocks = 60000;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic_bytes));
  CHECK(cudaMemset(out, 0, host.size() * 4));
  const int batches = N == 0 ? 0 : clocks / (8 * N);
  for (int i = 0; i < 2; ++i)
    kernel<<<1, 128 * (groups + (N > 0)), dynamic_bytes>>>(Args{apart, batches, last_first, out});
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(host.data(), out, host.size() * 4, cudaMemcpyDeviceToHost));
  std::printf("%s, %d a stamp, n%d, %d warps, %s%d apart\n", op_names[op], chunk, N, groups,
              last_first ? "last first, " : "", apart);
  for (int g = 0; g < groups; ++g) {
    for (int s = 0; s <= stamps; ++s) std::printf(" %d", static_cast<int>(host[g * (stamps + 1) + s]));
    std::printf("\n");
  }
}

template <int op, int chunk, int N>
void cases() {
  measure<op, chunk, N>(1, 0, false);
  for (int groups = 2; groups <= 3; ++groups)
    measure<op, chunk, N>(groups, 0, false), measure<op, chunk, N>(groups, 40, false),
        measure<op, chunk, N>(groups, 40, true);
}
template <int op>
void all() {
  cases<op, 8, 0>(), cases<op, 32, 0>(), cases<op, 8, 128>(), cases<op, 32, 128>();
}

int main() {
  out = begin(host.size());
  all<add>(), all<most>(), all<ex2>(), all<both>(), all<exps>(), all<mma>(), all<mma_add>();
}
