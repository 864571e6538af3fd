// The built combinations of the flash1 kernel. kernel.yaml lists the same ones.
#pragma once

#include "flash1/forward.cuh"

namespace tilescope::kernels::flash1 {

template <class T, int head_dim, int tile_q, int tile_kv, int warps, int min_blocks, bool pace = false>
Instance instance(Dtype dtype) {
  static_assert(smem_bytes(head_dim, tile_q, tile_kv) <= 227 * 1024, "a block has at most 227 KiB on sm_90");
  return {{"flash1", dtype, head_dim, tile_q, tile_kv, warps},
          reinterpret_cast<const void*>(&forward<T, head_dim, tile_q, tile_kv, warps, min_blocks, pace>)};
}

template <class T>
std::vector<Instance> all_tiles(Dtype t) {
  return {instance<T, 64, 64, 64, 4, 2>(t),   instance<T, 64, 64, 128, 4, 2>(t),  instance<T, 64, 64, 256, 4, 2>(t),
          instance<T, 64, 128, 128, 4, 2>(t), instance<T, 64, 128, 128, 8, 1>(t), instance<T, 64, 128, 256, 8, 1>(t),
          instance<T, 128, 64, 64, 4, 2>(t),  instance<T, 128, 64, 128, 4, 2>(t), instance<T, 128, 128, 64, 8, 1>(t),
          instance<T, 128, 128, 128, 8, 1>(t)};
}

}  // namespace tilescope::kernels::flash1
