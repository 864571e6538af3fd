// Rules of the simulated SM beside wgmma: what operations of another warpgroup and products take from each other, and
// steps of warpgroups that take turns at products.
//   nvcc -std=c++20 -O3 -arch=sm_90a -I kernels -o turns validate/tools/sm_rules/wgmma_turns.cu && ./turns
// Prints a line a case: clocks.
#include <vector>

#include "set_up.cuh"

constexpr int fill_bytes = 160 * 1024;

enum Op { none, op_max, op_fmul, op_ffma3, op_ffma2, op_fadd, op_ex2, op_iadd };
constexpr const char* op_names[] = {"none",       "max", "fmul a,a,b", "ffma a,a,b,c", "ffma a,a,const,b",
                                    "fadd a,a,b", "ex2", "iadd"};

// One operation on each of 32 values.
template <int op>
__device__ __forceinline__ void operate(float (&v)[32], float x, float y, float c) {
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    if (op == op_max) asm volatile("max.f32 %0, %0, %1;" : "+f"(v[i]) : "f"(x));
    if (op == op_fmul) asm volatile("mul.rn.f32 %0, %0, %1;" : "+f"(v[i]) : "f"(x));
    if (op == op_ffma3) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(v[i]) : "f"(x), "f"(y));
    if (op == op_ffma2) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(v[i]) : "f"(c), "f"(y));
    if (op == op_fadd) asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(v[i]) : "f"(x));
    if (op == op_ex2) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(v[i]));
    if (op == op_iadd) {
      unsigned r = __float_as_uint(v[i]);
      asm volatile("add.u32 %0, %0, %1;" : "+r"(r) : "r"(__float_as_uint(x)));
      v[i] = __uint_as_float(r);
    }
  }
}

// ---- products of one warpgroup beside operations of others ----
template <int N, bool rs, int op>
__global__ void __launch_bounds__(384, 1)
    beside(int rounds, float x, float y, unsigned* out, const __grid_constant__ float c) {
  extern __shared__ __align__(1024) unsigned char dynamic[];
  __shared__ volatile int done;
  if (threadIdx.x == 0) done = 0;
  const std::uint32_t at = fill<fill_bytes>(dynamic);
  if (threadIdx.x >= 128) {  // operations
    float v[32];
#pragma unroll
    for (int i = 0; i < 32; ++i) v[i] = threadIdx.x * 0.001f + i;
    unsigned n = 0;
    const unsigned t0 = now();
    while (done == 0) {
      if (op == none) break;
#pragma unroll
      for (int k = 0; k < 8; ++k) operate<op>(v, x, y, c);
      ++n;
    }
    const unsigned t1 = now();
    float all = 0;
#pragma unroll
    for (int i = 0; i < 32; ++i) all += v[i];
    if (threadIdx.x % 128 == 0) out[8 + threadIdx.x / 128 * 2] = n, out[9 + threadIdx.x / 128 * 2] = t1 - t0;
    if (all == 1.2345f) out[0] = 7;
    return;
  }
  float d[N / 2];
  for (float& each : d) each = 0;
  std::uint32_t p[4] = {0x2c002c00u + threadIdx.x, 0x2c012c00u, 0x2c002c03u, 0x2c012c05u};
  const std::uint64_t a = k_major(at), b = k_major(at + 16384);
  const unsigned t0 = now();
  pin(d);
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    fence_operands();
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (rs) Wgmma<N>::template rs<__half>(d, p, step_descriptor(b, i % 4 * 32), 1);
      else Wgmma<N>::template ss<__half>(d, step_descriptor(a, i % 4 * 32), step_descriptor(b, i % 4 * 32), 1);
    }
    commit_products();
  }
  wait_products<0>();
  pin(d);
  const unsigned t1 = now();
  done = 1;
  float all = 0;
  for (float each : d) all += each;
  if (threadIdx.x == 0) out[0] = t1 - t0;
  if (all == 1.2345f) out[1] = 7;
}

// ---- steps in turns ----
// A step: turn; `first` products n(S) from shared memory; `second` n(O) with A in registers; turn given on; wait for
// the first; `scores` operations a value of the scores; wait for the second; `outputs` products a value of the results.
template <int groups, int S, int first, int O, int second, int op, int scores, bool rescale, bool turns, bool stamps>
__global__ void __launch_bounds__(128 * groups, 1)
    steps(int rounds, float x, float y, unsigned* out, const __grid_constant__ float c) {
  extern __shared__ __align__(1024) unsigned char dynamic[];
  const std::uint32_t at = fill<fill_bytes>(dynamic);
  float s[S / 2], o[O / 2];
  for (float& each : s) each = 0;
  for (float& each : o) each = 0;
  std::uint32_t p[4] = {0x2c002c00u + threadIdx.x, 0x2c012c00u, 0x2c002c03u, 0x2c012c05u};
  const std::uint64_t a = k_major(at), b = k_major(at + 16384), v = k_major(at + 49152);
  const int group = static_cast<int>(threadIdx.x) / 128;
  if (turns && group == groups - 1) arrive_named(1, 256);
  unsigned sum[6] = {};
  const unsigned start = now();
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    unsigned t[7];
    const auto stamp = [&](int i) {
      if (stamps) t[i] = now();
    };
    pin(s), pin(o);
    stamp(0);
    if (turns) sync_named(1 + group, 256);
    stamp(1);
    fence_operands();
#pragma unroll
    for (int i = 0; i < first; ++i)
      Wgmma<S>::template ss<__half>(s, step_descriptor(a, i % 4 * 32), step_descriptor(b, i % 4 * 32), i > 0);
    commit_products();
    fence_operands();
#pragma unroll
    for (int i = 0; i < second; ++i) Wgmma<O>::template rs<__half>(o, p, step_descriptor(v, i % 4 * 32), 1);
    commit_products();
    if (turns) arrive_named(1 + (group + 1) % groups, 256);
    stamp(2);
    wait_products<1>();
    pin(s);
    stamp(3);
#pragma unroll
    for (int k = 0; k < scores; ++k) {
      float(&part)[32] = *reinterpret_cast<float(*)[32]>(&s[k * 32 % (S / 2)]);
      operate<op>(part, x, y, c);
    }
    pin(s);
    stamp(4);
    wait_products<0>();
    pin(o);
    stamp(5);
    if (rescale) {
#pragma unroll
      for (int i = 0; i < O / 2; ++i) asm volatile("mul.rn.f32 %0, %0, %1;" : "+f"(o[i]) : "f"(x));
    }
    pin(o);
    stamp(6);
    if (stamps) {
#pragma unroll
      for (int i = 0; i < 6; ++i) sum[i] += t[i + 1] - t[i];
    }
  }
  if (turns && group == 0) sync_named(1, 256);
  const unsigned end = now();
  float all = 0;
  for (float each : s) all += each;
  for (float each : o) all += each;
  if (threadIdx.x % 128 == 0) {
    for (int i = 0; i < 6; ++i) out[group * 8 + i] = sum[i];
    out[group * 8 + 6] = end - start;
  }
  if (all == 1.2345f) out[40] = 7;
}

unsigned* out;
std::vector<unsigned> host(256);
constexpr int dynamic_bytes = fill_bytes + 2048;
void fetch() {
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(host.data(), out, host.size() * 4, cudaMemcpyDeviceToHost));
}

template <int N, bool rs, int op>
void beside_case(int others) {
  constexpr int rounds = 2000;
  auto kernel = beside<N, rs, op>;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic_bytes));
  CHECK(cudaMemset(out, 0, host.size() * 4));
  for (int i = 0; i < 2; ++i) kernel<<<1, 128 * (1 + others), dynamic_bytes>>>(rounds, 1.0f, 0.5f, out, 0.99f);
  fetch();
  std::printf("beside %s n%d, %d warpgroups of %-17s: %.2f clk a product", rs ? "rs" : "ss", N, others, op_names[op],
              host[0] / (8.0 * rounds));
  for (int i = 1; i <= others && op != none; ++i)
    std::printf(", %.3f clk an operation", host[9 + 2 * i] / (256.0 * host[8 + 2 * i]));
  std::printf("\n");
}
template <int N, bool rs>
void beside_cases() {
  beside_case<N, rs, none>(1);
  const auto both = [](auto f) { f(1), f(2); };
  both(beside_case<N, rs, op_max>), both(beside_case<N, rs, op_fmul>);
  both(beside_case<N, rs, op_ffma3>), both(beside_case<N, rs, op_ffma2>), both(beside_case<N, rs, op_fadd>);
  both(beside_case<N, rs, op_ex2>), both(beside_case<N, rs, op_iadd>);
}

template <int groups, int S, int first, int O, int second, int op, int scores, bool rescale, bool turns>
void steps_case() {
  constexpr int rounds = 1000;
  const auto run = [&](auto kernel) {
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic_bytes));
    CHECK(cudaMemset(out, 0, host.size() * 4));
    for (int i = 0; i < 2; ++i) kernel<<<1, 128 * groups, dynamic_bytes>>>(rounds, 1.0f, 0.5f, out, 0.99f);
    fetch();
  };
  run(steps<groups, S, first, O, second, op, scores, rescale, turns, false>);
  std::printf("steps %d groups%s, ss n%d x%d, rs n%d x%d, %d x %s%s: %.1f clk", groups, turns ? " in turns" : "", S,
              first, O, second, scores * 32, op_names[op], rescale ? ", rescale" : "", host[6] / double(rounds));
  run(steps<groups, S, first, O, second, op, scores, rescale, turns, true>);
  std::printf("; stamped %.1f: turn %.1f issue %.1f wait %.1f scores %.1f wait %.1f rescale %.1f\n",
              host[6] / double(rounds), host[0] / double(rounds), host[1] / double(rounds), host[2] / double(rounds),
              host[3] / double(rounds), host[4] / double(rounds), host[5] / double(rounds));
}
template <int groups, int S, int first, int O, int second, bool turns>
void steps_cases() {
  steps_case<groups, S, first, O, second, none, 0, false, turns>();
  steps_case<groups, S, first, O, second, none, 0, true, turns>();
  steps_case<groups, S, first, O, second, op_max, 2, false, turns>();
  steps_case<groups, S, first, O, second, op_max, 4, false, turns>();
  steps_case<groups, S, first, O, second, op_max, 4, true, turns>();
  steps_case<groups, S, first, O, second, op_ex2, 1, false, turns>();
  steps_case<groups, S, first, O, second, op_ex2, 2, true, turns>();
  steps_case<groups, S, first, O, second, op_ffma2, 4, false, turns>();
  steps_case<groups, S, first, O, second, op_fadd, 8, true, turns>();
}

int main() {
  CHECK(cudaMalloc(&out, host.size() * 4));
  cudaDeviceProp prop{};
  CHECK(cudaGetDeviceProperties(&prop, 0));
  std::printf("%s, %d SMs\n", prop.name, prop.multiProcessorCount);
  beside_cases<64, false>(), beside_cases<64, true>();
  beside_cases<128, false>(), beside_cases<128, true>();
  beside_cases<256, false>(), beside_cases<256, true>();
  steps_cases<2, 64, 8, 128, 4, true>();
  steps_cases<2, 64, 8, 128, 4, false>();
  steps_cases<1, 64, 8, 128, 4, false>();
  steps_cases<2, 128, 8, 128, 8, true>();
  steps_cases<3, 64, 8, 128, 4, true>();
}
