// The built combinations. kernel.yaml lists the same ones.
#pragma once

#include "fused_fp8/forward.cuh"

namespace tilescope::kernels::fused_fp8 {

template <class Out, bool fp8_values, int head_dim, int warpgroups, int tile_kv, int stages, bool turns, bool overlap>
Instance instance() {
  constexpr Dtype out = std::is_same_v<Out, __half> ? Dtype::fp16 : Dtype::bf16;
  static_assert(smem_bytes(head_dim, warpgroups * 64, tile_kv, stages, fp8_values) <= 227 * 1024,
                "a block has at most 227 KiB on sm_90");
  Variant variant{fp8_values ? "fused_fp8" : "fused_fp8_qk", out, head_dim, warpgroups * 64, tile_kv};
  variant.warps = warpgroups * 4 + 4, variant.stages = stages;
  variant.q = variant.k = Dtype::fp8_e4m3;
  if (fp8_values) variant.v = Dtype::fp8_e4m3;
  auto* function = &forward<Out, fp8_values, head_dim, warpgroups, tile_kv, stages, turns, overlap>;
  return {variant, reinterpret_cast<const void*>(function)};
}

}  // namespace tilescope::kernels::fused_fp8
