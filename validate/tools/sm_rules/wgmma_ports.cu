// Rules of the simulated SM beside wgmma: rate and latency of single operations while another warpgroup's products run
// without a pause, and what the products lose.
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I kernels -o ports
//   validate/tools/sm_rules/wgmma_ports.cu && ./ports
// Prints a line a case: operation, independent chains of a thread, products, warpgroups of operations; clocks of a
// product beside them, clocks of an operation of each warpgroup.
#include <vector>

#include "set_up.cuh"

constexpr int fill_bytes = 96 * 1024, pass = 256;

enum Op { add2, add1, mul, mul_add, fmax2, prmt, imad, pack, ex2, both, exps, shfl, lds, sts, ops };
constexpr const char* op_names[] = {
    "fadd 2 registers", "fadd 1 register", "fmul",    "ffma", "max",  "prmt", "imad", "pack", "ex2",
    "fadd and max",     "ffma, ex2, fadd", "shuffle", "load", "store"};

struct Extra {
  float x, y;
  unsigned selector;
  std::uint32_t at;  // a word of shared memory of the thread, that holds its own address
};

template <int op>
__device__ __forceinline__ void operate(float& v, float& sum, int i, const Extra& e) {
  unsigned r = __float_as_uint(v);
  if (op == add2 || (op == both && i % 2 == 0)) asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(v) : "f"(e.x));
  if (op == add1) asm volatile("add.rn.f32 %0, %0, 0f3F8CCCCD;" : "+f"(v));
  if (op == mul) asm volatile("mul.rn.f32 %0, %0, %1;" : "+f"(v) : "f"(e.x));
  if (op == mul_add) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(v) : "f"(e.x), "f"(e.y));
  if (op == fmax2 || (op == both && i % 2 == 1)) asm volatile("max.f32 %0, %0, %1;" : "+f"(v) : "f"(e.x));
  if (op == ex2) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(v));
  if (op == prmt) asm volatile("prmt.b32 %0, %0, %1, %2;" : "+r"(r) : "r"(__float_as_uint(e.x)), "r"(e.selector));
  if (op == imad) asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(r) : "r"(e.selector), "r"(e.at));
  if (op == pack) asm volatile("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(v), "f"(e.x));
  if (op == shfl) asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 0x1f, 0xffffffff;" : "+r"(r));
  if (op == lds) asm volatile("ld.volatile.shared.u32 %0, [%0];" : "+r"(r)::"memory");
  if (op == sts) asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(e.at), "r"(r) : "memory");
  if (op == prmt || op == imad || op == pack || op == shfl || op == lds) v = __uint_as_float(r);
  if (op == exps) {  // the compiler takes one special function for eight: `v` stays
    float t;
    asm volatile("fma.rn.f32 %0, %1, %2, %3;" : "=f"(t) : "f"(v), "f"(e.x), "f"(e.y));
    asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(t));
    asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(sum) : "f"(t));
  }
}

template <int op, int chains>
__device__ __forceinline__ unsigned operations(int passes, const Extra& e, unsigned* out) {
  float v[chains], sum[2] = {0, 0};
#pragma unroll
  for (int i = 0; i < chains; ++i) v[i] = op == lds ? __uint_as_float(e.at) : threadIdx.x * 0.001f + i;
  const unsigned t0 = now();
#pragma unroll 1
  for (int n = 0; n < passes; ++n) {
#pragma unroll
    for (int i = 0; i < pass; ++i) operate<op>(v[i % chains], sum[i % 2], i, e);
  }
  const unsigned t1 = now();
  float all = sum[0] + sum[1];
#pragma unroll
  for (int i = 0; i < chains; ++i) all += v[i];
  if (all == 1.2345f) out[0] = 7;
  return t1 - t0;
}

template <int... chains, int op>
__device__ __forceinline__ unsigned chosen(std::integral_constant<int, op>, int wanted, int passes, const Extra& e,
                                           unsigned* out) {
  unsigned clocks = 0;
  ((wanted == chains ? clocks = operations<op, chains>(passes, e, out), 0 : 0), ...);
  return clocks;
}

// `batches` of 16 products by warpgroup 0: more than fit in the time of the others' operations.
template <int N, bool rs, class T>
__global__ void __launch_bounds__(384, 1) beside(int op, int chains, int passes, int batches, Extra e, unsigned* out) {
  extern __shared__ __align__(1024) unsigned char dynamic[];
  __shared__ volatile unsigned products;
  __shared__ unsigned words[384];
  if (threadIdx.x == 0) products = 0;
  e.at = shared_at(&words[threadIdx.x]), words[threadIdx.x] = e.at;
  const std::uint32_t at = fill<fill_bytes>(dynamic);
  if (threadIdx.x >= 128) {
    const unsigned warm = now();
    while (now() - warm < 4000) {
    }
    const unsigned before = products, from = now();
    unsigned clocks = 0;
    const auto any = [&]<int o>(std::integral_constant<int, o> c) {
      if constexpr (o == shfl || o == lds) return chosen<1, 2, 4>(c, chains, passes, e, out);
      else if constexpr (o == both) return chosen<2, 32>(c, chains, passes, e, out);
      else if constexpr (o == sts || o == exps) return chosen<32>(c, chains, passes, e, out);
      else if constexpr (o == add1 || o == imad || o == prmt) return chosen<1, 32>(c, chains, passes, e, out);
      else return chosen<1, 2, 4, 8, 32>(c, chains, passes, e, out);
    };
    const auto each = [&]<int... o>(std::integer_sequence<int, o...>) {
      ((op == o ? clocks = any(std::integral_constant<int, o>{}), 0 : 0), ...);
    };
    each(std::make_integer_sequence<int, ops>{});
    const unsigned after = products, until = now();
    const unsigned group = threadIdx.x / 128;
    if (threadIdx.x % 128 == 0)
      out[4 * group] = clocks, out[4 * group + 1] = after - before, out[4 * group + 2] = until - from;
    return;
  }
  if constexpr (N > 0) multiply<N, rs, T>(at, batches, products, out + 1);
}

unsigned* out;
std::vector<unsigned> host(32);

template <int N, bool rs, class T = __half>
void cases() {
  auto kernel = beside<N, rs, T>;
  constexpr int dynamic_bytes = fill_bytes + 2048, clocks = 400000;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic_bytes));
  for (int op = 0; op < ops; ++op)
    for (const int chains : {1, 2, 4, 8, 32}) {
      const bool few = op == shfl || op == lds, two = op == both, most = op == sts || op == exps,
                 ends = op == add1 || op == imad || op == prmt;
      if ((few && chains > 4) || (two && chains != 2 && chains != 32) || (most && chains != 32) ||
          (ends && chains != 1 && chains != 32))
        continue;
      const int passes = few || op == sts ? 8 : 40, batches = N == 0 ? 0 : clocks / (8 * N);
      for (int groups = 1; groups <= 2; ++groups) {
        CHECK(cudaMemset(out, 0, host.size() * 4));
        for (int i = 0; i < 2; ++i)
          kernel<<<1, 128 * (1 + groups), dynamic_bytes>>>(op, chains, passes, batches, Extra{1.0f, 0.5f, 0x3210u, 0},
                                                           out);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(host.data(), out, host.size() * 4, cudaMemcpyDeviceToHost));
        const unsigned done = host[5], all = host[6];
        std::printf("%-16s %2d chains, %s n%-3d, %d warpgroups: %8.2f clk a product", op_names[op], chains,
                    N == 0             ? "no"
                    : is_e4m3<T> && rs ? "r8"
                    : is_e4m3<T>       ? "s8"
                    : rs               ? "rs"
                                       : "ss",
                    N, groups, done ? all / (16.0 * done) : 0.0);
        for (int g = 1; g <= groups; ++g) std::printf(", %.3f", host[4 * g] / (double(pass) * passes));
        std::printf(" clk an operation\n");
      }
    }
}

int main() {
  out = begin(host.size());
  cases<0, false>();
  cases<64, false>(), cases<128, true>(), cases<128, false>(), cases<64, true>(), cases<256, true>();
  cases<256, false>(), cases<96, false>(), cases<32, false>();
  cases<128, true, E4m3>(), cases<128, false, E4m3>();
}
