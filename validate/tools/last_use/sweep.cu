// Sweeps of local memory whose loads are the last use of what they load (LDL.LU), as those of spilled registers are.
// A block stores its frame place by place, and loads each place once, `age` places after it stored it.
//   nvcc -O3 -arch=sm_90a -cubin -o plain.cubin sweep.cu && ./mark_last_use.py plain.cubin last_use.cubin
// PTX has ld.local.lu, but the assembler makes a plain LDL of it; so the second cubin has the bit set by hand.
#include <cuda_runtime.h>

constexpr int places = 16, in_flight = 8, wide = 8;  // bytes of an access

__device__ __forceinline__ float load(unsigned at) {
  float x, y;
  asm volatile("ld.local.v2.f32 {%0, %1}, [%2];" : "=f"(x), "=f"(y) : "r"(at) : "memory");
  return x + y;
}
__device__ __forceinline__ void store(unsigned at, float x) {
  asm volatile("st.local.v2.f32 [%0], {%1, %1};" ::"r"(at), "f"(x) : "memory");
}

// frame: bytes of a thread, of which `used` are swept. apart: blocks begin at different places.
template <int frame>
__device__ __forceinline__ void sweep(int used, int age, int sweeps, int apart, float* out) {
  const int place_bytes = used / places;  // a multiple of in_flight * wide
  float own[frame / 4];
  own[0] = own[frame / 4 - 1] = 0;
  unsigned long long address;
  asm volatile("cvta.to.local.u64 %0, %1;" : "=l"(address) : "l"(own));
  const auto base = static_cast<unsigned>(address);
  const int first = apart ? static_cast<int>(blockIdx.x * 5 % places) : 0;
  float sum = static_cast<float>(threadIdx.x);
  for (int step = 0; step < sweeps * places; ++step) {
    const unsigned stored = base + (step + first) % places * place_bytes;
#pragma unroll 1
    for (int i = 0; i < place_bytes; i += in_flight * wide)
#pragma unroll
      for (int j = 0; j < in_flight; ++j) store(stored + i + j * wide, sum);
    if (step < age) continue;
    const unsigned loaded = base + (step + first - age) % places * place_bytes;
#pragma unroll 1
    for (int i = 0; i < place_bytes; i += in_flight * wide) {
      float v[in_flight];
#pragma unroll
      for (int j = 0; j < in_flight; ++j) v[j] = load(loaded + i + j * wide);
#pragma unroll
      for (int j = 0; j < in_flight; ++j) sum += v[j];
    }
  }
  if (sum == 12345.f) out[threadIdx.x] = sum + own[sweeps % 2];
}

// 72 bytes beyond what is swept, so that the frames of units do not lie a multiple of 2 MiB apart.
#define SWEEP(USED)                                                                              \
  extern "C" __global__ void sweep##USED(int used, int age, int sweeps, int apart, float* out) { \
    sweep<USED + 72>(used, age, sweeps, apart, out);                                             \
  }
SWEEP(1024)
SWEEP(2048)
SWEEP(3072)
SWEEP(4096)
SWEEP(5120)
