// Rules of the simulated SM beside wgmma: two warpgroups, each with one kind of operation, while another one's products
// run without a pause.
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I kernels -o pairs
//   validate/tools/sm_rules/pairs_beside.cu && ./pairs
// Prints a line a case: products; of each warpgroup, its operation and independent chains of a thread; clocks of a
// product, and of an operation of each warpgroup ("none": it has ended).
#include <vector>

#include "set_up.cuh"

constexpr int fill_bytes = 96 * 1024, pass = 128;

enum Op { none, add, mul_add, fmax2, prmt, ex2, ops };
constexpr const char* op_names[] = {"none", "fadd", "ffma", "max", "prmt", "ex2"};

struct Extra {
  float x, y;
  unsigned selector;
};

template <int op>
__device__ __forceinline__ void operate(float& v, const Extra& e) {
  unsigned r = __float_as_uint(v);
  if (op == add) asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(v) : "f"(e.x));
  if (op == mul_add) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(v) : "f"(e.x), "f"(e.y));
  if (op == fmax2) asm volatile("max.f32 %0, %0, %1;" : "+f"(v) : "f"(e.x));
  if (op == ex2) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(v));
  if (op == prmt) asm volatile("prmt.b32 %0, %0, %1, %2;" : "+r"(r) : "r"(__float_as_uint(e.x)), "r"(e.selector));
  if (op == prmt) v = __uint_as_float(r);
}

struct Counted {
  unsigned passes, clocks;
};

// Until `most` clocks are over.
template <int op, int chains>
__device__ __forceinline__ Counted operations(unsigned most, const Extra& e, unsigned* out) {
  float v[chains];
#pragma unroll
  for (int i = 0; i < chains; ++i) v[i] = threadIdx.x * 0.001f + i;
  const unsigned t0 = now();
  Counted counted{};
#pragma unroll 1
  for (; counted.clocks < most; ++counted.passes) {
#pragma unroll
    for (int i = 0; i < pass; ++i) operate<op>(v[i % chains], e);
    counted.clocks = now() - t0;
  }
  float all = 0;
#pragma unroll
  for (int i = 0; i < chains; ++i) all += v[i];
  if (all == 1.2345f) out[0] = 7;
  return counted;
}

template <int op>
__device__ __forceinline__ Counted chosen(int chains, unsigned most, const Extra& e, unsigned* out) {
  if (chains == 1) return operations<op, 1>(most, e, out);
  if (chains == 2) return operations<op, 2>(most, e, out);
  return operations<op, 8>(most, e, out);
}

struct Work {
  int op, chains;
};

// `batches` of 16 products by warpgroup 0: more than fit in the time of the others' operations.
template <int N, bool rs>
__global__ void __launch_bounds__(384, 1)
    beside(Work first, Work second, unsigned most, int batches, Extra e, unsigned* out) {
  extern __shared__ __align__(1024) unsigned char dynamic[];
  __shared__ volatile unsigned products;
  if (threadIdx.x == 0) products = 0;
  const std::uint32_t at = fill<fill_bytes>(dynamic);
  if (threadIdx.x < 128) {
    if constexpr (N > 0) multiply<N, rs, __half>(at, batches, products, out + 1);
    return;
  }
  const unsigned warm = now(), group = threadIdx.x / 128;
  while (now() - warm < 4000) {
  }
  const Work work = group == 1 ? first : second;
  const unsigned before = products, from = now();
  Counted counted{};
  const auto each = [&]<int... o>(std::integer_sequence<int, o...>) {
    ((work.op == o + 1 ? counted = chosen<o + 1>(work.chains, most, e, out), 0 : 0), ...);
  };
  each(std::make_integer_sequence<int, ops - 1>{});
  const unsigned after = products, until = now();
  if (threadIdx.x % 128 != 0) return;
  out[8 * group] = counted.passes, out[8 * group + 1] = counted.clocks;
  out[8 * group + 2] = after - before, out[8 * group + 3] = until - from;
}

unsigned* out;
std::vector<unsigned> host(32);

template <int N, bool rs>
void cases() {
  auto kernel = beside<N, rs>;
  constexpr int dynamic_bytes = fill_bytes + 2048;
  constexpr unsigned clocks = 40000;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic_bytes));
  const std::vector<Work> works{
      {none, 1}, {add, 1}, {add, 2}, {mul_add, 1}, {mul_add, 2}, {fmax2, 1}, {fmax2, 2}, {prmt, 2}, {ex2, 1}, {ex2, 8},
  };
  for (std::size_t i = 1; i < works.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const Work first = works[i], second = works[j];
      CHECK(cudaMemset(out, 0, host.size() * 4));
      const int batches = N == 0 ? 0 : (clocks + 20000) / (8 * N);
      for (int run = 0; run < 2; ++run)
        kernel<<<1, 384, dynamic_bytes>>>(first, second, clocks, batches, Extra{1.0f, 0.5f, 0x3210u}, out);
      CHECK(cudaGetLastError());
      CHECK(cudaDeviceSynchronize());
      CHECK(cudaMemcpy(host.data(), out, host.size() * 4, cudaMemcpyDeviceToHost));
      const unsigned done = host[10], all = host[11];
      std::printf("%s n%-3d %s %d, %s %d: %.2f clk a product",
                  N == 0 ? "no"
                  : rs   ? "rs"
                         : "ss",
                  N, op_names[first.op], first.chains, op_names[second.op], second.chains,
                  done ? all / (16.0 * done) : 0.0);
      for (int g = 1; g <= 2; ++g)
        std::printf(", %.3f", host[8 * g] ? host[8 * g + 1] / (double(pass) * host[8 * g]) : 0.0);
      std::printf(" clk an operation\n");
    }
}

int main() {
  out = begin(host.size());
  cases<0, false>(), cases<128, false>(), cases<128, true>(), cases<96, false>(), cases<256, true>();
}
