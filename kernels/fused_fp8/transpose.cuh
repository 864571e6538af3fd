// V^T in e4m3 for the products of forward.cuh, in a launch of its own.
#pragma once

#include "fused_fp8/forward.cuh"

namespace tilescope::kernels::fused_fp8 {

using namespace device;

// A block reads 64 keys of a head and writes 64 bytes of each row of V^T; orders of keys and columns as in forward.cuh.
// Rows of shared memory are 16 bytes longer than their contents, so that 8 of them lie in different banks.
// Grid: x = blocks of 64 keys (of `pitch` bytes in a row of V^T), y = KV heads of all batch entries.
template <int head_dim>
__global__ void __launch_bounds__(transpose_threads) transpose(const __grid_constant__ TransposeParams p) {
  constexpr int keys = transpose_keys, in_pitch = head_dim + 16, out_pitch = keys + 16, chunks = head_dim / 16;
  __shared__ __align__(16) unsigned char in[keys * in_pitch], out[head_dim * out_pitch];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int first_key = static_cast<int>(blockIdx.x) * keys;
  const std::int64_t head = blockIdx.y;
  const auto* v = static_cast<const unsigned char*>(p.v) + (head * p.kv_len + first_key) * head_dim;
  for (int i = thread; i < keys * chunks; i += transpose_threads) {
    const int key = i / chunks, chunk = i % chunks;
    uint4 bytes = make_uint4(0, 0, 0, 0);  // past the last key: a probability of 0 times what lies there must be 0
    if (first_key + key < p.kv_len) bytes = __ldcs(reinterpret_cast<const uint4*>(v + key * head_dim + chunk * 16));
    *reinterpret_cast<uint4*>(in + key * in_pitch + chunk * 16) = bytes;
  }
  __syncthreads();
  const std::uint32_t source = shared_address(in) + lane % 16 * in_pitch + lane / 16 * 16;
  const std::uint32_t target = shared_address(out) + lane * out_pitch;
  for (int block = warp; block < keys / 16 * (head_dim / 32); block += transpose_threads / 32) {
    const int key_block = block % (keys / 16), columns = block / (keys / 16);
    const Fragment4 f = load_matrices_transposed(source + key_block * 16 * in_pitch + columns * 32);
    store_regrouped(target + columns * 32 * out_pitch + key_block * 16, f);
  }
  __syncthreads();
  auto* vt = static_cast<unsigned char*>(p.vt) + head * head_dim * p.pitch + first_key;
  for (int i = thread; i < head_dim * (keys / 16); i += transpose_threads) {
    const int row = i / (keys / 16), chunk = i % (keys / 16);
    *reinterpret_cast<uint4*>(vt + row * p.pitch + chunk * 16) =
        *reinterpret_cast<const uint4*>(out + row * out_pitch + chunk * 16);
  }
}

}  // namespace tilescope::kernels::fused_fp8
