// Merges the parts of the keys: with L the log-sum-exp of the parts' L_part, O = sum of exp(L_part - L) O_part.
// One block a row. A warp takes every fourth part, its lanes four columns each; the warps' sums meet in shared memory.
#pragma once

#include "common/tensor_core.cuh"
#include "split_kv/split_kv.h"

namespace tilescope::kernels::split_kv {

template <class T, int d_v>
__global__ void __launch_bounds__(combine_warps * 32) combine(const CombineParams p) {
  constexpr int threads = combine_warps * 32, fours = d_v / 4;  // groups of four columns
  constexpr int lanes = fours < 32 ? fours : 32;                // that share a part
  constexpr int takes = threads / lanes;                        // parts under way at once
  constexpr int values = fours / lanes;                         // groups of four a lane
  constexpr float log2e = 1.4426950408889634f;
  __shared__ float weights[max_splits];
  __shared__ float4 sums[takes][fours];
  const std::int64_t row = blockIdx.x;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  const float* const l_part = p.l_part + row;

  // Every warp finds the maximum and the sum for itself; all write the same weights.
  float max = -INFINITY;
  for (int s = lane; s < p.splits; s += 32) max = fmaxf(max, __ldg(l_part + s * p.rows));
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, offset));
  const float negative = max == -INFINITY ? 0.0f : __fmul_rn(max, -log2e);
  float sum = 0.0f;
  for (int s = lane; s < p.splits; s += 32) {
    const float weight = device::exp2_fast(__fmaf_rn(__ldg(l_part + s * p.rows), log2e, negative));
    if (thread < 32) weights[s] = weight;
    sum = __fadd_rn(sum, weight);
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, offset));
  const float inverse = sum > 0.0f ? device::reciprocal_fast(sum) : 0.0f;
  __syncthreads();

  const float4* const o_part = reinterpret_cast<const float4*>(p.o_part) + row * fours;
  float4 o[values] = {};
#pragma unroll 4
  for (int s = thread / lanes; s < p.splits; s += takes) {
    const float weight = weights[s];
#pragma unroll
    for (int i = 0; i < values; ++i) {
      const float4 part = __ldcs(o_part + s * p.rows * fours + i * lanes + thread % lanes);
      o[i].x = __fmaf_rn(part.x, weight, o[i].x), o[i].y = __fmaf_rn(part.y, weight, o[i].y);
      o[i].z = __fmaf_rn(part.z, weight, o[i].z), o[i].w = __fmaf_rn(part.w, weight, o[i].w);
    }
  }
#pragma unroll
  for (int i = 0; i < values; ++i) sums[thread / lanes][i * lanes + thread % lanes] = o[i];
  __syncthreads();
  for (int i = thread; i < d_v / 8; i += threads) {  // eight columns, 16 bytes of O
    float total[8] = {};
#pragma unroll
    for (int take = 0; take < takes; ++take)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float4 part = sums[take][i * 2 + half];
        total[half * 4] = __fadd_rn(total[half * 4], part.x), total[half * 4 + 1] = __fadd_rn(total[half * 4 + 1], part.y);
        total[half * 4 + 2] = __fadd_rn(total[half * 4 + 2], part.z), total[half * 4 + 3] = __fadd_rn(total[half * 4 + 3], part.w);
      }
    using device::Element;
#pragma unroll
    for (int e = 0; e < 8; ++e) total[e] = __fmul_rn(total[e], inverse);
    device::store_16(static_cast<T*>(p.o) + row * d_v + i * 8,
                     make_uint4(Element<T>::pack(total[0], total[1]), Element<T>::pack(total[2], total[3]),
                                Element<T>::pack(total[4], total[5]), Element<T>::pack(total[6], total[7])));
  }
  if (thread == 0 && p.l != nullptr)
    p.l[row] = sum > 0.0f ? __fmul_rn(__fmaf_rn(device::log2_fast(sum), 1.0f, -negative), 0.6931471805599453f) : -INFINITY;
}

}  // namespace tilescope::kernels::split_kv
