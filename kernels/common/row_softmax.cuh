// Row softmax of a materialised score matrix: reads each row of S once, writes each row of P once, one block a row.
// A whole row lives in the block's registers, which limits its length.
#pragma once

#include "common/softmax.h"
#include "common/tensor_core.cuh"

namespace tilescope::kernels::device {

// 16 bytes as fp32 values and back.
template <class T>
struct Packet {
  static constexpr int size = 8;
  static __device__ __forceinline__ void unpack(const uint4& raw, float* out) {
    const std::uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 two = Element<T>::unpack(words[i]);
      out[i * 2] = two.x, out[i * 2 + 1] = two.y;
    }
  }
  static __device__ __forceinline__ uint4 pack(const float* in) {
    return make_uint4(Element<T>::pack(in[0], in[1]), Element<T>::pack(in[2], in[3]), Element<T>::pack(in[4], in[5]),
                      Element<T>::pack(in[6], in[7]));
  }
};

template <>
struct Packet<float> {
  static constexpr int size = 4;
  static __device__ __forceinline__ void unpack(const uint4& raw, float* out) {
    out[0] = __uint_as_float(raw.x), out[1] = __uint_as_float(raw.y);
    out[2] = __uint_as_float(raw.z), out[3] = __uint_as_float(raw.w);
  }
  static __device__ __forceinline__ uint4 pack(const float* in) {
    return make_uint4(__float_as_uint(in[0]), __float_as_uint(in[1]), __float_as_uint(in[2]), __float_as_uint(in[3]));
  }
};

// Shared scratch of one reduction: one value per warp, and the final result.
struct Reduction {
  float partial[softmax_threads / 32];
  float result;
};

// Returns finish(all values combined) in every thread. The first warp combines the warps' values, and thread 0 alone
// calls finish(). The executed work is thus the same for short rows, where the compiler lets idle warps skip unneeded
// work.
template <class Combine, class Finish>
__device__ __forceinline__ float reduce_block(float value, Reduction& scratch, Combine combine, Finish finish) {
  constexpr int warps = softmax_threads / 32;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
  if (threadIdx.x % 32 == 0) scratch.partial[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    value = scratch.partial[threadIdx.x % warps];
#pragma unroll
    for (int offset = warps / 2; offset > 0; offset /= 2)
      value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
    if (threadIdx.x == 0) scratch.result = finish(value);
  }
  __syncthreads();
  return scratch.result;
}

// Grid: x = query rows, y = query heads, z = batch. `values`: fp32 values a thread holds; a warp skips 32 packets that
// all lie past the row, so scores are processed in whole groups of 32 packets.
template <class T, int values>
__global__ void __launch_bounds__(softmax_threads) row_softmax(const SoftmaxParams params) {
  constexpr int size = Packet<T>::size, packets = values / size;
  constexpr float log2e = 1.4426950408889634f;
  __shared__ Reduction of_max, of_sum;
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const uint4* source = reinterpret_cast<const uint4*>(static_cast<const T*>(params.s) + row * params.pitch);
  uint4* destination = reinterpret_cast<uint4*>(static_cast<T*>(params.p) + row * params.pitch);
  const int row_packets = params.pitch / size;
  const int thread = static_cast<int>(threadIdx.x), warp_start = thread & ~31;

  float x[packets][size];
  float max = -INFINITY;
#pragma unroll
  for (int i = 0; i < packets; ++i) {
    const int packet = i * softmax_threads + thread;
#pragma unroll
    for (int e = 0; e < size; ++e) x[i][e] = -INFINITY;
    if (packet < row_packets) Packet<T>::unpack(__ldcg(source + packet), x[i]);
#pragma unroll
    for (int e = 0; e < size; ++e) max = fmaxf(max, x[i][e]);
  }
  // A fully masked row has the maximum -inf; using 0 in its place gives P = 0.
  const float scaled_max = reduce_block(
      max, of_max, [](float a, float b) { return fmaxf(a, b); },
      [](float all) { return all == -INFINITY ? 0.0f : __fmul_rn(all, log2e); });
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < packets; ++i)
    if (i * softmax_threads + warp_start < row_packets) {
#pragma unroll
      for (int e = 0; e < size; ++e) {
        x[i][e] = exp2_fast(__fmaf_rn(x[i][e], log2e, -scaled_max));
        sum = __fadd_rn(sum, x[i][e]);
      }
    }
  const float inverse = reduce_block(
      sum, of_sum, [](float a, float b) { return __fadd_rn(a, b); },
      [](float all) { return all > 0.0f ? reciprocal_fast(all) : 0.0f; });
#pragma unroll
  for (int i = 0; i < packets; ++i) {
    const int packet = i * softmax_threads + thread;
    if (packet < row_packets) {
#pragma unroll
      for (int e = 0; e < size; ++e) x[i][e] = __fmul_rn(x[i][e], inverse);
      store_16(destination + packet, Packet<T>::pack(x[i]));
    }
  }
}

// The instance for rows of `pitch` elements; nullptr when they are longer than softmax_max_row.
template <class T>
const void* row_softmax_for(std::int64_t pitch) {
  if (pitch <= softmax_threads * 8) return reinterpret_cast<const void*>(&row_softmax<T, 8>);
  if (pitch <= softmax_threads * 16) return reinterpret_cast<const void*>(&row_softmax<T, 16>);
  if (pitch <= softmax_threads * 32) return reinterpret_cast<const void*>(&row_softmax<T, 32>);
  if (pitch <= softmax_threads * 64) return reinterpret_cast<const void*>(&row_softmax<T, 64>);
  if (pitch <= softmax_threads * 128) return reinterpret_cast<const void*>(&row_softmax<T, 128>);
  return nullptr;
}

}  // namespace tilescope::kernels::device
