// The built combinations of the split-KV kernel. kernel.yaml lists the same ones.
#pragma once

#include "split_kv/combine.cuh"
#include "split_kv/narrow.cuh"
#include "split_kv/partial.cuh"

namespace tilescope::kernels::split_kv {

template <Dtype format, int head_dim, int tile_q, int tile_kv, int warps, int stages, bool hold_q, int min_blocks>
Instance instance() {
  using T = typename FormatOf<format>::type::Compute;
  constexpr int bytes = smem_bytes(format, head_dim, tile_q, tile_kv, stages);
  static_assert(bytes <= 227 * 1024, "a block has at most 227 KiB on sm_90");
  static_assert((warps * 16 * (head_dim + 8) + 2 * warps * 16) * 4 <= bytes, "the warps merge in the stages' memory");
  Variant v{"split_kv", format == Dtype::bf16 ? Dtype::bf16 : Dtype::fp16, head_dim, tile_q, tile_kv, warps, stages};
  if (bits(format) < 16) v.k = v.v = format;
  return {
      v, reinterpret_cast<const void*>(&partial<format, head_dim, tile_q, tile_kv, warps, stages, hold_q, min_blocks>),
      reinterpret_cast<const void*>(&combine<T, head_dim>), reinterpret_cast<const void*>(&combine_few<T, head_dim>)};
}

template <Dtype format, int head_dim, int tile_kv, int warps, int stages, int min_blocks>
Instance narrow_instance() {
  using T = typename FormatOf<format>::type::Compute;
  constexpr int bytes = smem_bytes(format, head_dim, narrow_rows, tile_kv, stages);
  static_assert(bytes <= 227 * 1024, "a block has at most 227 KiB on sm_90");
  static_assert(warps * narrow_rows * (head_dim + 6) * 4 <= bytes, "the warps merge in the stages' memory");
  Variant v{"split_kv", Dtype::fp16, head_dim, narrow_rows, tile_kv, warps, stages};
  v.k = v.v = format;
  return {v, reinterpret_cast<const void*>(&narrow_partial<format, head_dim, tile_kv, warps, stages, min_blocks>),
          reinterpret_cast<const void*>(&combine<T, head_dim>),
          reinterpret_cast<const void*>(&combine_few<T, head_dim>)};
}

}  // namespace tilescope::kernels::split_kv
