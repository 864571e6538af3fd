// Sweeps of local memory whose loads are the last use of what they load (LDL.LU), as those of spilled registers are.
// A block stores its frame place by place, and loads each place once, `age` places after it stored it.
//   nvcc -O3 -arch=sm_90a -cubin -o plain.cubin sweep.cu && ./mark_last_use.py plain.cubin last_use.cubin
// PTX has ld.local.lu, but the assembler makes a plain LDL of it; so the second cubin has the bit set by hand.
#include <cuda_runtime.h>

#include "local_sweep.cuh"

// frame: bytes of a thread, of which `used` are swept. apart: blocks begin at different places.
template <int frame>
__device__ __forceinline__ void sweep(int used, int age, int sweeps, int apart, float* out) {
  Frame<frame> own;
  const int first = apart ? static_cast<int>(blockIdx.x * 5 % places) : 0;
  float sum = static_cast<float>(threadIdx.x);
  for (int step = 0; step < sweeps * places; ++step) {
    own.store_place(used, (step + first) % places, sum);
    if (step >= age) sum += own.load_place(used, (step + first - age) % places);
  }
  if (sum == 12345.f) out[threadIdx.x] = sum + own.any(sweeps);
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
