// The built combinations of the two-kernel backward pass. kernel.yaml lists the same ones.
#pragma once

#include "backward/main.cuh"
#include "backward/passes.cuh"
#include "backward/query.cuh"
#include "backward_split/backward_split.h"

namespace tilescope::kernels::backward_split {

// Both kernels use tiles of 128 queries and 128 keys, and process the streamed tile in parts of 64 rows.
template <class T, int head_dim, int stages>
Instance instance(Dtype dtype) {
  using namespace backward;
  constexpr int part = 64;
  using Keys = Main<T, head_dim, 128, part, stages, false>;
  using Queries = Query<T, head_dim, 128, part, stages>;
  static_assert(Keys::smem_bytes <= 227 * 1024 && Queries::smem_bytes <= 227 * 1024, "a block has at most 227 KiB");
  return {{.kernel = "backward_split",
           .dtype = dtype,
           .head_dim = head_dim,
           .tile_q = 128,
           .tile_kv = 128,
           .warps = threads / 32,
           .stages = stages},
          reinterpret_cast<const void*>(&preprocess<T, head_dim, 128>),
          reinterpret_cast<const void*>(&backward_main<T, head_dim, 128, part, stages, false>),
          reinterpret_cast<const void*>(&backward_query<T, head_dim, 128, part, stages>),
          Keys::smem_bytes,
          Queries::smem_bytes};
}

template <class T>
std::vector<Instance> all(Dtype t) {
  return {instance<T, 64, 2>(t), instance<T, 128, 2>(t)};
}

}  // namespace tilescope::kernels::backward_split
