// Data that all SMs read again and again beside sweeps of local memory, as spilling attention kernels read K and V: how
// much of it stays in the L2. Between two places of a sweep a block reads a chunk of the data; the blocks are dealt to
// groups, and those of a group read the same chunks at the same time.
//   nvcc -O3 -std=c++20 -arch=sm_90a -cubin -o plain.cubin beside.cu && ./mark_last_use.py plain.cubin last_use.cubin
//   g++ -std=c++20 -O2 -o launch_beside launch_beside.cpp -lcuda
//   ncu --cache-control none --csv --metrics dram__bytes_read.sum,dram__bytes_write.sum ./launch_beside
#include "../l2_sides.cuh"
#include "local_sweep.cuh"

// chunks: of 16 KiB, that are read in turn; a multiple of the number of groups.
template <int frame>
__device__ __forceinline__ void beside(int used, int age, int sweeps, const float4* kept, int chunks, int groups,
                                       unsigned* count, float* out) {
  constexpr int loads = 8, threads = 128;
  Frame<frame> own;
  float sum = static_cast<float>(threadIdx.x);
  int chunk = static_cast<int>(blockIdx.x) % groups;
  for (int step = 0; step < sweeps * places; ++step) {
    float4 v[loads];
#pragma unroll
    for (int i = 0; i < loads; ++i)
      v[i] = __ldcg(kept + (static_cast<long>(chunk) * loads + i) * threads + threadIdx.x);
#pragma unroll
    for (int i = 0; i < loads; ++i) sum += v[i].x + v[i].y + v[i].z + v[i].w;
    if ((chunk += groups) >= chunks) chunk -= chunks;
    own.store_place(used, step % places, sum);
    if (step >= age) sum += own.load_place(used, (step - age) % places);
    if (step % 2 == 1) tilescope::l2::all_arrive(count, static_cast<unsigned>((step + 1) / 2) * gridDim.x);
  }
  if (sum == 12345.f) out[threadIdx.x] = sum + own.any(sweeps);
}

#define BESIDE(USED)                                                                                                 \
  extern "C" __global__ void beside##USED(int used, int age, int sweeps, const float4* kept, int chunks, int groups, \
                                          unsigned* count, float* out) {                                             \
    beside<USED + 72>(used, age, sweeps, kept, chunks, groups, count, out);                                          \
  }
BESIDE(1024)
BESIDE(2048)
BESIDE(3072)
BESIDE(4096)
BESIDE(5120)
