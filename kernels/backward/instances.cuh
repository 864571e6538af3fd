// The built combinations of the backward kernels. kernel.yaml lists the same ones.
#pragma once

#include "backward/main.cuh"
#include "backward/passes.cuh"

namespace tilescope::kernels::backward {

template <class T, int head_dim, int tile_q, int stages>
Instance instance(Dtype dtype) {
  using M = Main<T, head_dim, tile_q, tile_q, stages, true>;
  static_assert(M::smem_bytes <= 227 * 1024, "a block has at most 227 KiB on sm_90");
  return {{.kernel = "backward",
           .dtype = dtype,
           .head_dim = head_dim,
           .tile_q = tile_q,
           .tile_kv = M::tile_kv,
           .warps = threads / 32,
           .stages = stages},
          reinterpret_cast<const void*>(&preprocess<T, head_dim, tile_q>),
          reinterpret_cast<const void*>(&backward_main<T, head_dim, tile_q, tile_q, stages, true>),
          reinterpret_cast<const void*>(&convert<T, head_dim, tile_q>),
          M::smem_bytes};
}

template <class T>
std::vector<Instance> all(Dtype t) {
  return {instance<T, 64, 128, 2>(t), instance<T, 128, 64, 2>(t), instance<T, 128, 64, 3>(t)};
}

}  // namespace tilescope::kernels::backward
