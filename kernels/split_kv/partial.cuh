// One part of the keys of one KV head: O_part = softmax(scale Q K^T) V over the part, and L_part, its log-sum-exp.
//
// The rows of a KV head (its query heads x q_len) are packed: a block owns tile_q of them, so each loaded key serves
// all of them. Each warp owns 16 rows and tile_kv * tile_q / 16 / warps of a tile's keys, and keeps its own running
// softmax. Warps that share rows merge their results once, at the end. Where only one warp reads a key, that warp also
// copies it, and the loop needs no block-wide barrier. K and V keep their stored format until they are in registers.
#pragma once

#include "split_kv/partial_tile.cuh"

namespace tilescope::kernels::split_kv {

// Adds up the warps' shares of O, merged [warps][tile_q][pitch], and writes the valid rows of the tile,
// [rows][head_dim]. Rows past the end are added up too, so that the executed work depends on the tiles only.
template <int tile_q, int head_dim, int pitch, int warps, int threads>
__device__ __forceinline__ void store_merged(float* out, const float* merged, int valid_rows) {
  constexpr int fours = head_dim / 4;
  static_assert(tile_q * fours % threads == 0, "every thread must make the same number of additions");
#pragma unroll
  for (int pass = 0; pass < tile_q * fours / threads; ++pass) {
    const int i = static_cast<int>(threadIdx.x) + pass * threads, row = i / fours, column = i % fours * 4;
    float4 sum = *reinterpret_cast<const float4*>(merged + row * pitch + column);
#pragma unroll
    for (int w = 1; w < warps; ++w) {
      const float4 more = *reinterpret_cast<const float4*>(merged + (w * tile_q + row) * pitch + column);
      sum.x = __fadd_rn(sum.x, more.x), sum.y = __fadd_rn(sum.y, more.y);
      sum.z = __fadd_rn(sum.z, more.z), sum.w = __fadd_rn(sum.w, more.w);
    }
    asm volatile(
        "{\n .reg .pred there;\n setp.ne.s32 there, %5, 0;\n @there st.global.v4.f32 [%0], {%1,%2,%3,%4};\n}\n" ::"l"(
            out + row * head_dim + column),
        "f"(sum.x), "f"(sum.y), "f"(sum.z), "f"(sum.w), "r"(static_cast<int>(row < valid_rows))
        : "memory");
  }
}

// Grid: x = row tiles (fastest) and parts of the keys, y = KV heads, z = batch.
template <Dtype format, int head_dim, int tile_q, int tile_kv, int warps, int stages, bool hold_q, int min_blocks>
__global__ void __launch_bounds__(warps * 32, min_blocks) partial(const PartialParams p) {
  using P = Partial<format, head_dim, tile_q, tile_kv, warps, stages, hold_q>;
  using F = typename P::F;
  using Tile = typename P::Tile;
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::uint32_t q_tile = device::shared_address(shared), first_stage = q_tile + tile_q * head_dim * 2;
  const int lane = static_cast<int>(threadIdx.x) & 31, warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp % P::row_warps * 16, key_warp = warp / P::row_warps, first_key = key_warp * P::warp_keys;

  const int split = static_cast<int>(divide(blockIdx.x, p.row_tiles));
  const int first_row = (static_cast<int>(blockIdx.x) - split * static_cast<int>(p.row_tiles.value)) * tile_q;
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.z) * p.heads_kv + blockIdx.y;
  const int first_tile = split * p.part_tiles, last_tile = min(first_tile + p.part_tiles, p.tiles);

  const int copier = P::own_keys ? lane : static_cast<int>(threadIdx.x);
  KeyStream<format, head_dim, tile_kv, stages, P::own_keys ? P::warp_keys : tile_kv, P::own_keys ? 32 : P::threads>
      stream(p, head, first_tile, P::own_keys ? first_key : 0, copier, first_stage);

  float o[P::out_blocks][4] = {};
  typename P::Rows rows = {{-INFINITY, -INFINITY}, {0.0f, 0.0f}};
  Fragment4 held_q[hold_q ? P::steps : 1];
  typename P::Offsets offsets;
  int last_key[2];  // last visible key of the rows g and g + 8
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const auto row = static_cast<std::uint32_t>(first_row + warp_row + half * 8 + lane / 4);
    const int query = static_cast<int>(row - divide(row, p.queries) * p.queries.value);
    last_key[half] = p.kv_len - 1 - (p.causal ? p.q_len - 1 - query : 0);
  }

  P::copy_q(q_tile, static_cast<const typename P::T*>(p.q) + (head * p.rows + first_row) * head_dim,
            p.rows - first_row);
  device::commit_copies();
#pragma unroll
  for (int j = 0; j < stages - 1; ++j) stream.copy(p, last_tile, copier);

  // Lane addresses of row 0, chunk 0 of the warp's keys: K plain (two 8-key blocks of two chunks, or one of four),
  // V transposed (16 keys of two chunks).
  const std::uint32_t k_offset = Tile::chunks >= 4 && !P::plain
                                     ? Tile::offset(lane & 7, lane >> 3)
                                     : Tile::offset((lane & 7) + ((lane >> 4) << 3), (lane >> 3) & 1);
  const std::uint32_t v_offset = Tile::offset(lane & 15, lane >> 4);

  device::wait_copies<stages - 1>();
  __syncthreads();  // Q is in shared memory
  if constexpr (hold_q) {
#pragma unroll
    for (int i = 0; i < P::steps; ++i) held_q[i] = P::load_q(q_tile, warp_row, i, lane);
  }
  P::make_offsets(offsets, q_tile, warp_row, lane);

  int slot = 0;
  for (int tile = first_tile; tile < last_tile; ++tile) {
    device::wait_copies<stages - 2>();
    if constexpr (P::own_keys)
      __syncwarp();  // the warp's keys of this tile have arrived, and all its lanes are done with the previous tile
    else __syncthreads();  // the same for all warps
    stream.copy(p, last_tile, copier);
    const typename P::Stage at(first_stage + slot);
    slot = slot == (stages - 1) * P::stage ? 0 : slot + P::stage;
    float s[P::key_blocks][4] = {};
    P::scores(s, held_q, offsets, q_tile, warp_row, at.k + first_key * P::kv_row + k_offset,
              at.k_scales + first_key * P::scale_row, lane);
    const int key = tile * tile_kv + first_key;  // first key of the warp
    if (key + P::warp_keys > p.kv_len - (p.causal ? p.q_len - 1 : 0)) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int n = 0; n < P::key_blocks; ++n)
#pragma unroll
          for (int i = 0; i < 2; ++i)
            if (key + n * 8 + (lane & 3) * 2 + i > last_key[half]) s[n][half * 2 + i] = -INFINITY;
    }
    float negative_max[2];
    P::rescale(s, o, rows, negative_max, p.scale_log2);
#pragma unroll
    for (int step = 0; step < P::warp_keys / 16; ++step) {
      float probability[4][2];
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          probability[i][e] =
              device::exp2_fast(__fmaf_rn(s[step * 2 + i / 2][i % 2 * 2 + e], p.scale_log2, negative_max[i % 2]));
          rows.sum[i % 2] = __fadd_rn(rows.sum[i % 2], probability[i][e]);
        }
      P::accumulate(o, probability, at.v + first_key * P::kv_row + v_offset, step * 16,
                    at.v_scales + (first_key + step * 16) * P::scale_row, lane);
    }
  }

  // Merge the warps that share rows through the shared memory of the stages, after rescaling their sums to the common
  // maximum.
  asm volatile("griddepcontrol.launch_dependents;\n" ::: "memory");  // see merge_launch.h
  device::wait_copies<0>();
  __syncthreads();
  constexpr int pitch = head_dim + 8;                           // floats a row: neighbouring rows start 8 banks apart
  float* const merged = reinterpret_cast<float*>(shared);       // [key_warps][tile_q][pitch]
  float* const stats = merged + P::key_warps * tile_q * pitch;  // [2][key_warps][tile_q]: maxima, sums
  float factor[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float& sum = rows.sum[half];
    sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, 1));
    sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, 2));
    const int row = warp_row + half * 8 + lane / 4;
    if ((lane & 3) == 0) {
      stats[key_warp * tile_q + row] = rows.max[half];
      stats[(P::key_warps + key_warp) * tile_q + row] = sum;
    }
  }
  __syncthreads();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = warp_row + half * 8 + lane / 4;
    float max = stats[row];
#pragma unroll
    for (int w = 1; w < P::key_warps; ++w) max = fmaxf(max, stats[w * tile_q + row]);
    const float negative = max == -INFINITY ? 0.0f : -max;
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < P::key_warps; ++w)
      sum = __fmaf_rn(stats[(P::key_warps + w) * tile_q + row],
                      device::exp2_fast(__fadd_rn(stats[w * tile_q + row], negative)), sum);
    const float inverse = sum > 0.0f ? __fmul_rn(device::reciprocal_fast(sum), p.v_descale) : 0.0f;
    factor[half] = __fmul_rn(inverse, device::exp2_fast(__fadd_rn(rows.max[half], negative)));
    if (key_warp == 0 && (lane & 3) == 0 && first_row + row < p.rows) {
      const float log2_sum = __fadd_rn(__fadd_rn(max, device::log2_fast(sum)), static_cast<float>(-F::lift));
      p.l_part[(static_cast<std::int64_t>(split) * gridDim.z * p.heads_kv + head) * p.rows + first_row + row] =
          sum > 0.0f ? __fmul_rn(log2_sum, 0.6931471805599453f) : -INFINITY;
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float* const row = merged + (key_warp * tile_q + warp_row + half * 8 + lane / 4) * pitch;
    constexpr int blocks = F::chunk_values / 8;
#pragma unroll
    for (int n = 0; n < P::out_blocks; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        row[n / blocks * F::chunk_values + F::o_column(n % blocks, e, lane & 3)] =
            __fmul_rn(o[n][half * 2 + e], factor[half]);
  }
  __syncthreads();
  float* const out =
      p.o_part + ((static_cast<std::int64_t>(split) * gridDim.z * p.heads_kv + head) * p.rows + first_row) * head_dim;
  store_merged<tile_q, head_dim, pitch, P::key_warps, P::threads>(out, merged, p.rows - first_row);
}

}  // namespace tilescope::kernels::split_kv
