// Merges the parts of the keys: with L the log-sum-exp of the parts' L_part, O = sum of exp(L_part - L) O_part. Two
// forms: `combine` uses whole blocks per row, so that many parts are loaded concurrently; `combine_few`, for up to
// few_splits parts, uses one thread per 16-byte piece of O.
#pragma once

#include "common/tensor_core.cuh"
#include "split_kv/split_kv.h"

namespace tilescope::kernels::split_kv {

// The natural logarithm of `sum`, the sum of the weights 2^(L_part log2(e) + negative_max), without that maximum.
__device__ __forceinline__ float log_sum_exp(float sum, float negative_max) {
  return sum > 0.0f ? __fmul_rn(__fadd_rn(device::log2_fast(sum), -negative_max), 0.6931471805599453f) : -INFINITY;
}

template <class T, int d_v>
__global__ void __launch_bounds__(combine_warps * 32) combine_few(const CombineParams p) {
  constexpr int pieces = d_v / 8;
  constexpr float log2e = 1.4426950408889634f;
  using device::Element;
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * (combine_warps * 32) + threadIdx.x;
  const std::int64_t row = index / pieces;
  asm volatile("griddepcontrol.wait;\n" ::: "memory");  // see merge_launch.h
  if (row >= p.rows) return;
  float l[few_splits], max = -INFINITY;
  float4 part[few_splits][2] = {};
#pragma unroll
  for (int s = 0; s < few_splits; ++s) {
    l[s] = -INFINITY;
    if (s < p.splits) {
      l[s] = __ldcg(p.l_part + s * p.rows + row);
      const float4* const from = reinterpret_cast<const float4*>(p.o_part) + (s * p.rows * pieces + index) * 2;
      part[s][0] = __ldcs(from), part[s][1] = __ldcs(from + 1);
    }
    max = fmaxf(max, l[s]);
  }
  const float negative = max == -INFINITY ? 0.0f : __fmul_rn(max, -log2e);
  float sum = 0.0f, o[8] = {};
#pragma unroll
  for (int s = 0; s < few_splits; ++s)
    if (s < p.splits) {
      const float weight = device::exp2_fast(__fmaf_rn(l[s], log2e, negative));
      sum = __fadd_rn(sum, weight);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        o[half * 4] = __fmaf_rn(part[s][half].x, weight, o[half * 4]);
        o[half * 4 + 1] = __fmaf_rn(part[s][half].y, weight, o[half * 4 + 1]);
        o[half * 4 + 2] = __fmaf_rn(part[s][half].z, weight, o[half * 4 + 2]);
        o[half * 4 + 3] = __fmaf_rn(part[s][half].w, weight, o[half * 4 + 3]);
      }
    }
  const float inverse = sum > 0.0f ? device::reciprocal_fast(sum) : 0.0f;
#pragma unroll
  for (int e = 0; e < 8; ++e) o[e] = __fmul_rn(o[e], inverse);
  device::store_16(static_cast<T*>(p.o) + index * 8,
                   make_uint4(Element<T>::pack(o[0], o[1]), Element<T>::pack(o[2], o[3]), Element<T>::pack(o[4], o[5]),
                              Element<T>::pack(o[6], o[7])));
  if (index - row * pieces == 0 && p.l != nullptr) p.l[row] = log_sum_exp(sum, negative);
}

// Grid: x = rows, y = groups of combine_columns columns. A warp takes every fourth part, its lanes four columns each;
// the warps' sums are added in shared memory.
template <class T, int d_v>
__global__ void __launch_bounds__(combine_warps * 32) combine(const CombineParams p) {
  constexpr int threads = combine_warps * 32, columns = d_v < combine_columns ? d_v : combine_columns;
  constexpr int lanes = columns / 4;      // that share a part, four columns each
  constexpr int takes = threads / lanes;  // parts loaded concurrently
  constexpr float log2e = 1.4426950408889634f;
  __shared__ float weights[max_splits];
  __shared__ float4 sums[takes][lanes];
  const std::int64_t row = blockIdx.x;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  const float* const l_part = p.l_part + row;

  asm volatile("griddepcontrol.wait;\n" ::: "memory");  // see merge_launch.h
  // Every warp computes the maximum and the sum itself; all warps write the same weights.
  float max = -INFINITY;
  for (int s = lane; s < p.splits; s += 32) max = fmaxf(max, __ldcg(l_part + s * p.rows));
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, offset));
  const float negative = max == -INFINITY ? 0.0f : __fmul_rn(max, -log2e);
  float sum = 0.0f;
  for (int s = lane; s < p.splits; s += 32) {
    const float weight = device::exp2_fast(__fmaf_rn(__ldcg(l_part + s * p.rows), log2e, negative));
    if (thread < 32) weights[s] = weight;
    sum = __fadd_rn(sum, weight);
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, offset));
  const float inverse = sum > 0.0f ? device::reciprocal_fast(sum) : 0.0f;
  __syncthreads();

  const std::int64_t first = row * d_v + blockIdx.y * columns;  // element of O
  const float4* const o_part = reinterpret_cast<const float4*>(p.o_part + first) + thread % lanes;
  float4 o = {};
#pragma unroll 8
  for (int s = thread / lanes; s < p.splits; s += takes) {
    const float weight = weights[s];
    const float4 part = __ldcs(o_part + s * p.rows * (d_v / 4));
    o.x = __fmaf_rn(part.x, weight, o.x), o.y = __fmaf_rn(part.y, weight, o.y);
    o.z = __fmaf_rn(part.z, weight, o.z), o.w = __fmaf_rn(part.w, weight, o.w);
  }
  sums[thread / lanes][thread % lanes] = o;
  __syncthreads();
  if (thread < columns / 8) {  // eight columns, 16 bytes of O
    using device::Element;
    float total[8] = {};
#pragma unroll
    for (int take = 0; take < takes; ++take)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float4 part = sums[take][thread * 2 + half];
        float* const four = total + half * 4;
        four[0] = __fadd_rn(four[0], part.x), four[1] = __fadd_rn(four[1], part.y);
        four[2] = __fadd_rn(four[2], part.z), four[3] = __fadd_rn(four[3], part.w);
      }
#pragma unroll
    for (int e = 0; e < 8; ++e) total[e] = __fmul_rn(total[e], inverse);
    device::store_16(static_cast<T*>(p.o) + first + thread * 8,
                     make_uint4(Element<T>::pack(total[0], total[1]), Element<T>::pack(total[2], total[3]),
                                Element<T>::pack(total[4], total[5]), Element<T>::pack(total[6], total[7])));
  }
  if (thread == 0 && blockIdx.y == 0 && p.l != nullptr) p.l[row] = log_sum_exp(sum, negative);
}

}  // namespace tilescope::kernels::split_kv
