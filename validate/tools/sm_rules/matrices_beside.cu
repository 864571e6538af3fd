// Rules of the simulated SM: loads and stores of matrices in shared memory (ldmatrix, stmatrix) by warps of their own
// beside products of other warps, and the loop of an fp8 kernel that turns a tile over.
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I kernels -o matrices_beside
//   validate/tools/sm_rules/matrices_beside.cu && ./matrices_beside
// Prints a line a case: operation, operations before their results are used, products, warps; clocks of a product
// beside them, clocks of an operation of a warp.
#include <vector>

#include "turn_over.cuh"

constexpr int fill_bytes = 96 * 1024, pass = 64,
              tiles = 65;  // each load of a pass has its own, and each pass begins one later, so that none is left out

enum Op { load4, words1, words4, store1, store4, turn, ops };
constexpr const char* op_names[] = {"ldmatrix x4", "load 4 bytes", "load 16 bytes",
                                    "stmatrix x1", "stmatrix x4",  "turn over"};

template <int op>
__device__ __forceinline__ void operate(unsigned (&r)[4], std::uint32_t at, std::uint32_t to) {
  if constexpr (op == load4 || op == turn) load_turned(r, at);
  if constexpr (op == words1) asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(r[0]) : "r"(at) : "memory");
  if constexpr (op == words4)
    asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at)
                 : "memory");
  if constexpr (op == store1)
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(to), "r"(r[0]) : "memory");
  if constexpr (op == store4) store_matrices(to, r);
}

// `batch` operations, then their results are used; a turn is also regrouped and stored.
template <int op, int batch>
__device__ __forceinline__ unsigned operations(int passes, std::uint32_t at, std::uint32_t to, unsigned* out) {
  unsigned r[batch][4], all = threadIdx.x;
#pragma unroll
  for (int i = 0; i < batch; ++i)
    for (unsigned& each : r[i]) each = threadIdx.x + i;
  const unsigned t0 = now();
#pragma unroll 1
  for (int n = 0; n < passes; ++n) {
#pragma unroll
    for (int k = 0; k < pass; k += batch) {
#pragma unroll
      for (int i = 0; i < batch; ++i) operate<op>(r[i], at + n % 2 * 512 + (k + i) * 512, to);
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        if constexpr (op == turn) {
          store_regrouped(to, r[i]);
        } else if constexpr (op != store1 && op != store4) {
          all ^= r[i][op == words1 ? 0 : 3];
        }
      }
      asm volatile("" : "+r"(all)::"memory");
    }
  }
  const unsigned t1 = now();
  if (all == 1234567u) out[0] = 7;
  return t1 - t0;
}

// `batches` of 16 products by warpgroup 0: more than fit in the time of the others' operations.
template <int N, bool rs, class T, int op, int batch>
__global__ void __launch_bounds__(256, 1) beside(int warps, int passes, int batches, unsigned* out) {
  extern __shared__ __align__(1024) unsigned char dynamic[];
  __shared__ volatile unsigned products;
  __shared__ __align__(512) unsigned char read[tiles * 512], written[4][512];
  if (threadIdx.x == 0) products = 0;
  for (unsigned i = threadIdx.x; i < sizeof read; i += blockDim.x) read[i] = static_cast<unsigned char>(i * 7);
  const std::uint32_t base = fill<fill_bytes>(dynamic);
  if (threadIdx.x >= 128) {
    const unsigned warp = threadIdx.x / 32 - 4, lane = threadIdx.x % 32;
    if (static_cast<int>(warp) >= warps) return;
    const unsigned warm = now();
    while (now() - warm < 4000) {
    }
    const unsigned before = products, from = now();
    const unsigned clocks = operations<op, batch>(passes, shared_at(read) + lane * (op == words1 ? 4 : 16),
                                                  shared_at(written[warp]) + lane * 16, out);
    const unsigned after = products, until = now();
    if (lane == 0) out[4 * warp] = clocks, out[4 * warp + 1] = after - before, out[4 * warp + 2] = until - from;
    return;
  }
  if constexpr (N > 0) multiply<N, rs, T>(base, batches, products, out + 31);
}

unsigned* out;
std::vector<unsigned> host(32);

template <int N, bool rs, class T, int op, int batch>
void one() {
  const auto kernel = beside<N, rs, T, op, batch>;
  constexpr int dynamic_bytes = fill_bytes + 2048, clocks = 600000, passes = 16;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic_bytes));
  for (int warps = 1; warps <= 4; ++warps) {
    CHECK(cudaMemset(out, 0, host.size() * 4));
    for (int i = 0; i < 2; ++i) kernel<<<1, 256, dynamic_bytes>>>(warps, passes, N == 0 ? 0 : clocks / (8 * N), out);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host.data(), out, host.size() * 4, cudaMemcpyDeviceToHost));
    const unsigned done = host[1], all = host[2];
    const char* kind = N == 0 ? "no" : is_e4m3<T> && rs ? "r8" : is_e4m3<T> ? "s8" : rs ? "rs" : "ss";
    std::printf("%-13s x%d, %s n%-3d, %d warps: %8.2f clk a product, %.3f clk an operation\n", op_names[op], batch,
                kind, N, warps, done ? all / (16.0 * done) : 0.0, host[0] / (double(pass) * passes));
  }
}

template <int N, bool rs, class T, int op>
void batches() {
  one<N, rs, T, op, 1>(), one<N, rs, T, op, 4>();
}

template <int N, bool rs, class T = __half, int... op>
void cases(std::integer_sequence<int, op...>) {
  (batches<N, rs, T, op>(), ...);
}

int main() {
  out = begin(host.size());
  constexpr std::make_integer_sequence<int, ops> all{};
  cases<0, false>(all), cases<128, true>(all), cases<128, false>(all), cases<64, false>(all), cases<256, true>(all);
  cases<128, true, E4m3>(all), cases<128, false, E4m3>(all), cases<256, true, E4m3>(all), cases<96, false, E4m3>(all);
}
