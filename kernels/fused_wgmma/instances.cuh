// The built combinations of the Hopper kernel, one list a head_dim. kernel.yaml lists the same ones.
#pragma once

#include "fused_wgmma/forward.cuh"

namespace tilescope::kernels::fused_wgmma {

template <class T, int head_dim, int warpgroups, int tile_kv, int stages, bool overlap = true>
Instance instance(Dtype dtype) {
  using F = Forward<T, head_dim, warpgroups, tile_kv, stages, overlap>;
  static_assert(F::smem <= max_smem_bytes, "a block has at most 227 KiB on sm_90");
  Variant variant{"fused_wgmma", dtype, head_dim, F::tile_q, tile_kv, F::threads / 32};
  variant.stages = stages;
  return {variant, reinterpret_cast<const void*>(&forward<T, head_dim, warpgroups, tile_kv, stages, overlap>)};
}

// overlap is set where it is faster: not at head_dim 64, where the exponentials are the bottleneck, and not with tiles
// of 64 keys.
template <class T>
std::vector<Instance> head_dim_64(Dtype t) {
  return {
      instance<T, 64, 1, 64, 2, false>(t),  instance<T, 64, 1, 128, 2, false>(t), instance<T, 64, 2, 64, 2, false>(t),
      instance<T, 64, 2, 128, 2, false>(t), instance<T, 64, 2, 192, 2, false>(t), instance<T, 64, 3, 64, 2, false>(t),
      instance<T, 64, 3, 96, 3, false>(t),  instance<T, 64, 3, 128, 2, false>(t), instance<T, 64, 3, 128, 3, false>(t)};
}

template <class T>
std::vector<Instance> head_dim_128(Dtype t) {
  return {instance<T, 128, 1, 64, 2, false>(t), instance<T, 128, 1, 128, 2>(t), instance<T, 128, 2, 64, 2>(t),
          instance<T, 128, 2, 64, 4>(t),        instance<T, 128, 2, 96, 2>(t),  instance<T, 128, 2, 128, 2>(t),
          instance<T, 128, 2, 160, 2>(t),       instance<T, 128, 2, 176, 2>(t), instance<T, 128, 3, 64, 2, false>(t),
          instance<T, 128, 3, 80, 2>(t)};
}

template <class T>
std::vector<Instance> head_dim_256(Dtype t) {
  return {instance<T, 256, 1, 64, 2>(t), instance<T, 256, 1, 80, 2>(t), instance<T, 256, 2, 32, 2>(t),
          instance<T, 256, 2, 48, 2>(t), instance<T, 256, 2, 64, 2>(t), instance<T, 256, 2, 80, 2>(t)};
}

}  // namespace tilescope::kernels::fused_wgmma
