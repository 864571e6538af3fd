// A separate launch that writes V^T in e4m3, the operand of P V.
#pragma once

#include "fused_fp8/forward.cuh"

namespace tilescope::kernels::fused_fp8 {

using namespace device;

// V^T in the layout of the shared-memory tiles: consecutive panels of `panel` keys, each head_dim rows of `panel`
// bytes, swizzled as the product's descriptors say (Panels), so that a tile is contiguous, and so are 64 keys.
// Orders of keys and columns as in forward.cuh.
//
// A block transposes 64 keys of a head. Rows of `in` are 16 bytes longer than their contents, so that 8 of them lie in
// different banks. Grid: x = blocks of 64 keys, y = KV heads of all batch entries.
template <int head_dim, int panel>
__global__ void __launch_bounds__(transpose_threads) transpose(const __grid_constant__ TransposeParams p) {
  constexpr int keys = transpose_keys, in_pitch = head_dim + 16, chunks = head_dim / 16;
  constexpr int each = keys * chunks / transpose_threads;  // chunks of 16 bytes a thread
  static_assert(keys % panel == 0 && keys * chunks % transpose_threads == 0);
  __shared__ __align__(128) unsigned char out[keys * head_dim], in[keys * in_pitch];
  asm volatile("griddepcontrol.launch_dependents;\n" ::: "memory");  // see wait_for_transposed
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int first_key = static_cast<int>(blockIdx.x) * keys;
  const std::int64_t head = blockIdx.y;
  const auto* v = static_cast<const uint4*>(p.v) + (head * p.kv_len + first_key) * chunks;
  uint4 bytes[each];
#pragma unroll
  for (int i = 0; i < each; ++i) {
    const int at = thread + i * transpose_threads;
    bytes[i] = make_uint4(0, 0, 0, 0);  // past the last key: zeros, so that a probability of 0 times the value is 0
    if (first_key + at / chunks < p.kv_len) bytes[i] = __ldcs(v + at);
  }
#pragma unroll
  for (int i = 0; i < each; ++i) {
    const int at = thread + i * transpose_threads;
    *reinterpret_cast<uint4*>(in + at / chunks * in_pitch + at % chunks * 16) = bytes[i];
  }
  __syncthreads();
  const std::uint32_t source = shared_address(in) + lane % 16 * in_pitch + lane / 16 * 16;
  const std::uint32_t target = shared_address(out);
#pragma unroll
  for (int block = warp; block < keys / 16 * (head_dim / 32); block += transpose_threads / 32) {
    const int key_block = block % (keys / 16), columns = block / (keys / 16);
    const std::uint32_t rows = key_block / (panel / 16) * (panel * head_dim) + columns * 32 * panel;
    const Fragment4 f = load_matrices_transposed(source + key_block * 16 * in_pitch + columns * 32);
    store_regrouped(target + rows + Panels<panel>::chunk(lane, key_block % (panel / 16)), f);
  }
  __syncthreads();
  auto* vt = static_cast<uint4*>(p.vt) + (head * p.keys + first_key) * chunks;
#pragma unroll
  for (int i = 0; i < each; ++i) {
    const int at = thread + i * transpose_threads;
    vt[at] = *reinterpret_cast<const uint4*>(out + at * 16);
  }
}

}  // namespace tilescope::kernels::fused_fp8
