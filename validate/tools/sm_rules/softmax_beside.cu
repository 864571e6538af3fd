// Rules of the simulated SM beside wgmma: whole softmax steps of one or two warpgroups while another one's products run
// without a pause, and while three warps turn tiles over in shared memory beside them.
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I kernels -o softmax_beside
//   validate/tools/sm_rules/softmax_beside.cu && ./softmax_beside
// Prints a line a case: products, scores and accumulators of a thread, with or without time stamps ("turning": without,
// beside warps that turn tiles over, of which the clocks of 16 bytes a lane stand at the end), warpgroups; clocks
// of a product, and of a pass of each warpgroup. With time stamps also those of maxima, shuffles with the correction,
// exponentials with sums, conversions (which the compiler moves elsewhere) and rescaling.
#include <vector>

#include "softmax_step.cuh"
#include "turn_over.cuh"

constexpr int fill_bytes = 160 * 1024, parts = 5;

struct Args {
  int batches, passes, groups;
  float scale;
  unsigned* out;  // a warpgroup: clocks of each part, then of all passes; from 100 on: products and their clocks
};
constexpr int all_passes = 6, of_products = 100, of_turns = 102, turning_warps = 3;

// Four tiles of 16 bytes a lane at a time, until the steps are done.
__device__ __forceinline__ void turn_over(const Args& a, std::uint32_t at, const volatile unsigned& done) {
  constexpr int batch = 4, times = 8;
  const std::uint32_t from = at + 48 * 1024 + threadIdx.x % 32 * 16, to = from + 16384 + threadIdx.x / 32 * 512;
  unsigned r[batch][4], turned = 0;
  while (now() % 64 != 0) {
  }
  const unsigned start = now();
  for (; !done; ++turned) {
#pragma unroll
    for (int k = 0; k < times; ++k) {
#pragma unroll
      for (int i = 0; i < batch; ++i) load_turned(r[i], from + turned % 2 * 512 + (k * batch + i) * 512);
#pragma unroll
      for (int i = 0; i < batch; ++i) store_regrouped(to, r[i]);
    }
  }
  const unsigned clocks = now() - start;
  if (threadIdx.x % 128 == 0) a.out[of_turns] = turned * batch * times, a.out[of_turns + 1] = clocks;
}

template <int scores, int accumulators, bool stamped>
__device__ __forceinline__ void steps(const Args& a, int group) {
  Softmax<scores> softmax;
  float o[accumulators];
  unsigned clocks[parts] = {}, t[parts + 1];
  for (int i = 0; i < scores; ++i) softmax.s[i] = threadIdx.x * 0.001f + i * 0.01f;
  for (int i = 0; i < accumulators; ++i) o[i] = i;
  pin(softmax.s), pin(o);
  const unsigned from = now();
#pragma unroll 1
  for (int n = 0; n < a.passes; ++n) {
    if (stamped) t[0] = now();
    softmax.maxima();
    if (stamped) pin(softmax.found), t[1] = now();
    softmax.correct(a.scale);
    if (stamped) pin(softmax.negative), pin(softmax.correction), pin(softmax.sum), t[2] = now();
    softmax.exponentials(a.scale);
    pin(softmax.s), pin(softmax.sum);
    if (stamped) t[3] = now();
    softmax.convert();
    if (stamped) t[4] = now();
#pragma unroll
    for (int i = 0; i < accumulators; ++i) o[i] = __fmul_rn(o[i], softmax.correction[i / 2 % rows]);
    pin(o);
    if (!stamped) continue;
    t[5] = now();
    for (int i = 0; i < parts; ++i) clocks[i] += t[i + 1] - t[i];
  }
  const unsigned until = now();
  float all = softmax.sum[0] + softmax.sum[1];
  for (const float each : softmax.s) all += each;
  for (const float each : o) all += each;
  if (all == 1.2345f) a.out[200] = 7;
  if (threadIdx.x % 128 != 0) return;
  for (int i = 0; i < parts; ++i) a.out[group * 8 + i] = clocks[i];
  a.out[group * 8 + all_passes] = until - from;
}

// `batches` of 16 products by warpgroup 0: more than fit in the time of the others' steps.
template <int N, bool rs, int scores, int accumulators, bool stamped>
__global__ void __launch_bounds__(384 + 32 * turning_warps, 1) beside(Args a) {
  extern __shared__ __align__(1024) unsigned char dynamic[];
  __shared__ volatile unsigned products, done;
  if (threadIdx.x == 0) products = 0, done = 0;
  const std::uint32_t at = fill<fill_bytes>(dynamic);
  if (threadIdx.x >= 128 * (1 + a.groups)) return turn_over(a, at, done);
  if (threadIdx.x >= 128) {
    const unsigned warm = now();
    while (now() - warm < 4000) {
    }
    const unsigned before = products, from = now();
    steps<scores, accumulators, stamped>(a, threadIdx.x / 128);
    done = 1;
    const unsigned after = products, until = now();
    if (threadIdx.x == 128) a.out[of_products] = after - before, a.out[of_products + 1] = until - from;
    return;
  }
  if constexpr (N > 0) multiply<N, rs, __half>(at, a.batches, products, a.out + 201);
}

unsigned* out;
std::vector<unsigned> host(256);

template <int N, bool rs, int scores, int accumulators, bool stamped>
void measure(int groups, bool turning = false) {
  auto kernel = beside<N, rs, scores, accumulators, stamped>;
  constexpr int dynamic_bytes = fill_bytes + 2048, passes = 100, most_clocks = 6000;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic_bytes));
  CHECK(cudaMemset(out, 0, host.size() * 4));
  const int batches = N == 0 ? 0 : passes * most_clocks / (8 * N);
  const int threads = 128 * (1 + groups) + (turning ? 32 * turning_warps : 0);
  for (int i = 0; i < 2; ++i) kernel<<<1, threads, dynamic_bytes>>>(Args{batches, passes, groups, 0.125f, out});
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(host.data(), out, host.size() * 4, cudaMemcpyDeviceToHost));
  const unsigned done = host[of_products], clocks = host[of_products + 1];
  std::printf("%s n%-3d K%d D%d %s %d wg: product %.2f",
              N == 0 ? "no"
              : rs   ? "rs"
                     : "ss",
              N, scores, accumulators,
              turning   ? "turning"
              : stamped ? "stamped"
                        : "plain",
              groups, done ? clocks / (16.0 * done) : 0.0);
  for (int g = 1; g <= groups; ++g) {
    std::printf(" | pass %.1f", host[g * 8 + all_passes] / double(passes));
    for (int i = 0; stamped && i < parts; ++i) std::printf(" %.1f", host[g * 8 + i] / double(passes));
  }
  if (turning) std::printf(" | turned over %.1f", host[of_turns + 1] / double(host[of_turns]));
  std::printf("\n");
}

template <int N, bool rs, int scores, int accumulators>
void cases_of() {
  for (int groups = 1; groups <= 2; ++groups) {
    measure<N, rs, scores, accumulators, false>(groups), measure<N, rs, scores, accumulators, true>(groups);
    measure<N, rs, scores, accumulators, false>(groups, true);
  }
}
template <int N, bool rs>
void cases() {
  cases_of<N, rs, 32, 64>(), cases_of<N, rs, 64, 32>();
  if constexpr (N <= 128) cases_of<N, rs, 48, 16>();
}

int main() {
  out = begin(host.size());
  cases<0, false>();
  cases<64, false>(), cases<128, true>(), cases<128, false>(), cases<64, true>(), cases<176, false>();
  cases<96, false>();
}
