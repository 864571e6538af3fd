// The built combinations, one list a head_dim: the table of the case study, {64, 128} x {64, 128} by one warpgroup, and
// the tiles of 128 rows by two. kernel.yaml lists the same ones.
#pragma once

#include "case_study/forward.cuh"

namespace tilescope::kernels::case_study {

template <int head_dim, int tile_q, int tile_kv, int warpgroups>
Instance instance() {
  static_assert(smem_bytes(head_dim, tile_q, tile_kv) <= 227 * 1024, "a block has at most 227 KiB on sm_90");
  return {{"case_study", Dtype::fp16, head_dim, tile_q, tile_kv, warpgroups * 4},
          reinterpret_cast<const void*>(&forward<__half, head_dim, tile_q, tile_kv, warpgroups>)};
}

template <int head_dim>
std::vector<Instance> all_tiles() {
  return {instance<head_dim, 64, 64, 1>(),   instance<head_dim, 64, 128, 1>(), instance<head_dim, 128, 64, 1>(),
          instance<head_dim, 128, 128, 1>(), instance<head_dim, 128, 64, 2>(), instance<head_dim, 128, 128, 2>()};
}

}  // namespace tilescope::kernels::case_study
