// The built combinations of the fused kernel, one list a head_dim. kernel.yaml lists the same ones.
#pragma once

#include "fused_mma/forward.cuh"

namespace tilescope::kernels::fused_mma {

template <class T, int head_dim, int tile_q, int tile_kv, int warps, bool hold_q, int min_blocks, bool pace = false>
Instance instance(Dtype dtype) {
  static_assert(smem_bytes(head_dim, tile_q, tile_kv) <= 227 * 1024, "a block has at most 227 KiB on sm_90");
  return {{"fused_mma", dtype, head_dim, tile_q, tile_kv, warps},
          reinterpret_cast<const void*>(&forward<T, head_dim, tile_q, tile_kv, warps, hold_q, min_blocks, pace>),
          hold_q};
}

// hold_q wherever it does not spill (-Xptxas -v) and is not slower (64: 128x128x4 is, 331 against 344 TFLOP/s): each KV
// step then reads no Q from shared memory.
template <class T>
std::vector<Instance> head_dim_64(Dtype t) {
  return {instance<T, 64, 64, 32, 4, true, 4>(t),  instance<T, 64, 64, 64, 4, true, 4>(t),
          instance<T, 64, 64, 128, 4, true, 2>(t), instance<T, 64, 128, 32, 4, true, 2>(t),
          instance<T, 64, 128, 64, 4, true, 2>(t), instance<T, 64, 128, 128, 4, false, 2>(t),
          instance<T, 64, 128, 64, 8, true, 2>(t), instance<T, 64, 128, 128, 8, false, 2>(t)};
}

template <class T>
std::vector<Instance> head_dim_128(Dtype t) {
  return {instance<T, 128, 64, 32, 4, true, 2>(t),         instance<T, 128, 64, 64, 4, true, 2>(t),
          instance<T, 128, 64, 128, 4, true, 1>(t),        instance<T, 128, 128, 32, 4, true, 2>(t),
          instance<T, 128, 128, 64, 4, false, 2, true>(t), instance<T, 128, 128, 32, 8, false, 2>(t),
          instance<T, 128, 128, 64, 8, true, 1>(t),        instance<T, 128, 128, 128, 8, true, 1>(t)};
}

template <class T>
std::vector<Instance> head_dim_256(Dtype t) {
  return {instance<T, 256, 64, 32, 4, true, 2>(t), instance<T, 256, 64, 64, 4, true, 1>(t),
          instance<T, 256, 128, 32, 8, true, 1>(t), instance<T, 256, 128, 64, 8, true, 1>(t)};
}

}  // namespace tilescope::kernels::fused_mma
