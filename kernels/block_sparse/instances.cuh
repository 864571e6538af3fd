// The built combinations of the block-sparse kernel. kernel.yaml lists the same ones.
#pragma once

#include "block_sparse/forward.cuh"

namespace tilescope::kernels::block_sparse {

template <class T, int head_dim, int tile_q, int tile_kv, int warps, bool hold_q, int min_blocks, bool pace = false>
Instance instance(Dtype dtype) {
  static_assert(smem_bytes(head_dim, tile_q, tile_kv) <= 227 * 1024, "a block has at most 227 KiB on sm_90");
  return {{"block_sparse", dtype, head_dim, tile_q, tile_kv, warps},
          reinterpret_cast<const void*>(&forward<T, head_dim, tile_q, tile_kv, warps, hold_q, min_blocks, pace>),
          hold_q};
}

// As in fused_mma: Q in registers where it does not spill and is not slower.
template <class T>
std::vector<Instance> all_tiles(Dtype t) {
  return {instance<T, 64, 64, 64, 4, true, 4>(t),          instance<T, 64, 128, 64, 4, true, 2>(t),
          instance<T, 64, 128, 128, 4, false, 2>(t),       instance<T, 128, 64, 64, 4, true, 2>(t),
          instance<T, 128, 128, 64, 4, false, 2, true>(t), instance<T, 128, 128, 128, 8, true, 1>(t)};
}

}  // namespace tilescope::kernels::block_sparse
