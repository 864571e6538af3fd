#include "mla_decode/partial.cuh"
#include "split_kv/combine.cuh"

namespace tilescope::kernels::mla_decode {
namespace {

template <class T>
Instance instance(Dtype dtype) {
  static_assert(smem_bytes <= 227 * 1024, "a block has at most 227 KiB on sm_90");
  return {{"mla_decode", dtype, d_qk, tile_q, tile_kv, warps, stages},
          reinterpret_cast<const void*>(&partial<T>),
          reinterpret_cast<const void*>(&split_kv::combine<T, d_v>),
          reinterpret_cast<const void*>(&split_kv::combine_few<T, d_v>)};
}

}  // namespace

Instance fp16() { return instance<__half>(Dtype::fp16); }
Instance bf16() { return instance<__nv_bfloat16>(Dtype::bf16); }

}  // namespace tilescope::kernels::mla_decode
