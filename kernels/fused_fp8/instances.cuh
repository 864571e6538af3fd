// The built combinations. kernel.yaml, fused_fp8_qk.kernel.yaml and fused_fp8_vt.kernel.yaml list the same ones.
#pragma once

#include "fused_fp8/forward.cuh"
#include "fused_fp8/transpose.cuh"

namespace tilescope::kernels::fused_fp8 {

template <class Out, Values values, int head_dim, int warpgroups, int tile_kv, int stages, bool turns, bool overlap,
          bool late, bool integers>
Instance instance() {
  constexpr Dtype out = std::is_same_v<Out, __half> ? Dtype::fp16 : Dtype::bf16;
  static_assert(smem_bytes(head_dim, warpgroups * 64, tile_kv, stages, values) <= 227 * 1024,
                "a block has at most 227 KiB on sm_90");
  Variant variant{name_of(values), out, head_dim, warpgroups * 64, tile_kv};
  variant.warps = warpgroups * 4 + 4, variant.stages = stages;
  variant.q = variant.k = Dtype::fp8_e4m3;
  if (values != Values::wide) variant.v = Dtype::fp8_e4m3;
  auto* function = &forward<Out, values, head_dim, warpgroups, tile_kv, stages, turns, overlap, late, integers>;
  Instance result{variant, reinterpret_cast<const void*>(function)};
  if constexpr (values == Values::columns)
    result.transpose = reinterpret_cast<const void*>(&transpose<head_dim, value_panel(tile_kv)>);
  return result;
}

}  // namespace tilescope::kernels::fused_fp8
