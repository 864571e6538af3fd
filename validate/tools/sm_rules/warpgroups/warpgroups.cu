// Rules of the simulated SM: one to three warpgroups go through steps of wgmma, softmax and wgmma, in turns or free.
// Operands lie in shared memory from the start.
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I kernels -o warpgroups
//   validate/tools/sm_rules/warpgroups/warpgroups.cu && ./warpgroups
// Prints a line a case: formats of the first product and, where it is not half, of the second; keys, columns of the
// results, warpgroups, turns, kind of code; clocks of a pass of each warpgroup. Kinds: plain; with mbarriers that let
// pass, as around tiles that the copy engine brings; the same with the first product's descriptors in registers of the
// threads. With an argument: cases of two free warpgroups, of which the second one begins later, by 0 to 15 sixteenths
// of a pass. Printed are that in clocks, and how much later it ends.
#include <vector>

#include "../softmax_step.cuh"

constexpr int fill_bytes = 160 * 1024;

enum Kind { plain, barriers, registers };
constexpr const char* kind_names[] = {"plain", "barriers", "registers"};

struct Args {
  int passes;
  float scale;
  unsigned later;  // by how many clocks a warpgroup begins after the one before
  unsigned* out;   // a warpgroup: clocks of all passes, then when each one ended
};

// A row's probabilities as the second product takes them: four in a register, or two.
template <class V>
constexpr int packs = is_e4m3<V> ? 4 : 2;
__device__ __forceinline__ std::uint32_t packed_e4m3(float a, float b, float c, float d) {
  std::uint32_t r;
  asm("{ .reg .b16 low, high; cvt.rn.satfinite.e4m3x2.f32 low, %2, %1; cvt.rn.satfinite.e4m3x2.f32 high, %4, %3; "
      "mov.b32 %0, {low, high}; }"
      : "=r"(r)
      : "f"(a), "f"(b), "f"(c), "f"(d));
  return r;
}

// T, V: formats of the first and the second product.
template <class T, class V, int groups, int keys, int columns, bool turns, Kind kind>
__global__ void __launch_bounds__(128 * groups, 1) warpgroups(Args args) {
  extern __shared__ __align__(1024) unsigned char dynamic[];
  __shared__ std::uint64_t full[2], empty[2];
  constexpr int deep = is_e4m3<T> ? 32 : 16;  // of a first product
  constexpr bool waits = kind != plain;
  if (threadIdx.x == 0)
    for (int i = 0; i < 2; ++i) init_barrier(shared_at(full + i), 1), init_barrier(shared_at(empty + i), 1000000);
  const std::uint32_t at = fill<fill_bytes>(dynamic);
  Softmax<keys / 2> softmax;
  float o[columns / 2];
  constexpr int steps = keys / (8 * packs<V>);  // of the second product
  std::uint32_t p[steps][4];
  for (int i = 0; i < steps; ++i)
    for (int j = 0; j < 4; ++j) p[i][j] = 0x2c002c00u + threadIdx.x + i * j;
  for (float& each : o) each = 0;
  for (float& each : softmax.s) each = 0;
  const int group = static_cast<int>(threadIdx.x) / 128;
  // The compiler keeps what depends on the thread in registers, though all of a warpgroup have the same.
  const std::uint64_t q = k_major(at + (kind == registers ? group * 8192 : 0)), k = k_major(at + 32768);
  const std::uint64_t v = is_e4m3<V> ? k_major(at + 98304) : mn_major(at + 98304, keys * 128);
  unsigned all_clocks = 0, end = 0;
  for (int round = 0; round < 2; ++round) {
    __syncthreads();
    if (turns && group == groups - 1) arrive_named(1, 256);
    for (const unsigned start = now(); now() - start < group * args.later;) {
    }
    const unsigned from = now();
#pragma unroll 1
    for (int n = 0; n < args.passes; ++n) {
      if (turns) sync_named(1 + group, 256);
      pin(softmax.s), pin(o);
      fence_operands();
#pragma unroll
      for (int i = 0; i < columns / deep; ++i)
        Wgmma<keys>::template ss<T>(softmax.s, step_descriptor(q, i % 4 * 32), step_descriptor(k, i % 4 * 32), i > 0);
      commit_products();
      if (waits) wait_barrier(shared_at(full), 1), fence_operands();
#pragma unroll
      for (int i = 0; i < steps; ++i) {
        if constexpr (is_e4m3<V>) Wgmma<columns>::template rs<V>(o, p[i], step_descriptor(v, i % 4 * 32), 1);
        else Wgmma<columns>::template rs<V, Major::mn>(o, p[i], step_descriptor(v, i * 16 * 128), 1);
      }
      commit_products();
      if (turns) arrive_named(1 + (group + 1) % groups, 256);
      wait_products<1>();
      pin(softmax.s);
      if (waits && threadIdx.x % 32 == 0) arrive(shared_at(empty));
      softmax.maxima();
      softmax.correct(args.scale);
      softmax.exponentials(args.scale);
      pin(softmax.s), pin(softmax.sum);
      if (waits) wait_barrier(shared_at(full + 1), 1);
      wait_products<0>();
      pin(o);
      if (waits && threadIdx.x % 32 == 0) arrive(shared_at(empty + 1));
#pragma unroll
      for (int i = 0; i < columns / 2; ++i) o[i] = __fmul_rn(o[i], softmax.correction[i / 2 % rows]);
#pragma unroll
      for (int i = 0; i < steps; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const float* s = softmax.s + packs<V> * (4 * i + j);
          if constexpr (is_e4m3<V>) p[i][j] = packed_e4m3(s[0], s[1], s[2], s[3]);
          else p[i][j] = packed(s[0], s[1]);
        }
    }
    end = now(), all_clocks = end - from;
    if (turns && group == 0) sync_named(1, 256);
  }
  float all = softmax.sum[0] + softmax.sum[1];
  for (const float each : o) all += each;
  for (const float each : softmax.s) all += each;
  if (all == 1.2345f) args.out[255] = 7;
  if (threadIdx.x % 128 == 0) args.out[group] = all_clocks, args.out[groups + group] = end;
}

unsigned* out;
std::vector<unsigned> host(256);

bool varies_begins = false;

// Returns clocks of a pass, mean of all warpgroups.
template <class T, class V, int groups, int keys, int columns, bool turns, Kind kind>
double measure(unsigned later = 0) {
  auto kernel = warpgroups<T, V, groups, keys, columns, turns, kind>;
  constexpr int dynamic_bytes = fill_bytes + 2048, passes = 200;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic_bytes));
  CHECK(cudaMemset(out, 0, host.size() * 4));
  kernel<<<1, 128 * groups, dynamic_bytes>>>(Args{passes, 0.125f, later, out});
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(host.data(), out, host.size() * 4, cudaMemcpyDeviceToHost));
  std::printf("%s%s k%d c%d %d wg %s %s:", is_e4m3<T> ? "e4m3" : "half", is_e4m3<V> ? "_e4m3" : "", keys, columns,
              groups, turns ? "turns" : "free", kind_names[kind]);
  double all = 0;
  for (int g = 0; g < groups; ++g) std::printf(" %.1f", host[g] / double(passes)), all += host[g] / double(passes);
  if (varies_begins) std::printf(" begins %u ends %d", later, static_cast<int>(host[groups + 1] - host[groups]));
  std::printf("\n");
  return all / groups;
}

template <class T, class V, int keys, int columns, Kind kind>
void later() {
  const double step = measure<T, V, 2, keys, columns, false, kind>();
  constexpr int parts = 16;
  for (int i = 1; i < parts; ++i) measure<T, V, 2, keys, columns, false, kind>(static_cast<unsigned>(step * i / parts));
}

template <class T, class V, int groups, int keys, int columns>
void cases() {
  if (varies_begins) {
    if constexpr (groups == 2) later<T, V, keys, columns, plain>(), later<T, V, keys, columns, barriers>();
    return;
  }
  const auto kinds = [](auto turns) {
    measure<T, V, groups, keys, columns, turns, plain>(), measure<T, V, groups, keys, columns, turns, barriers>();
    measure<T, V, groups, keys, columns, turns, registers>();
  };
  kinds(std::false_type{});
  if constexpr (groups > 1) kinds(std::true_type{});
}
template <class T, int keys, int columns, class V = __half>
void up_to_two() {
  cases<T, V, 1, keys, columns>(), cases<T, V, 2, keys, columns>();
}
template <class T, int keys, int columns, class V = __half>
void up_to_three() {
  up_to_two<T, keys, columns, V>(), cases<T, V, 3, keys, columns>();
}

int main(int arguments, char**) {
  varies_begins = arguments > 1;
  out = begin(host.size());
  up_to_three<__half, 128, 64>(), up_to_three<__half, 96, 64>(), up_to_three<__half, 64, 64>();
  up_to_three<__half, 64, 128>(), up_to_two<__half, 128, 128>(), up_to_two<__half, 176, 128>();
  up_to_two<__half, 48, 256>(), up_to_two<__half, 64, 256>(), up_to_two<__half, 80, 256>();
  up_to_three<E4m3, 128, 64>(), up_to_two<E4m3, 128, 128>(), up_to_two<E4m3, 160, 128>(), up_to_two<E4m3, 80, 256>();
  up_to_three<E4m3, 128, 64, E4m3>(), up_to_two<E4m3, 224, 64, E4m3>(), up_to_two<E4m3, 128, 128, E4m3>();
  up_to_two<E4m3, 192, 128, E4m3>(), up_to_two<E4m3, 224, 128, E4m3>(), up_to_two<E4m3, 96, 256, E4m3>();
  up_to_two<E4m3, 128, 256, E4m3>();
}
