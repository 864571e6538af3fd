// One part of the keys of one KV head for at most 8 rows: as partial.cuh, with the two products transposed
// (narrow_tile.cuh), so that most of the remaining work is unpacking codes. Every warp computes all rows for its share
// of a tile's keys, which it copies itself; the warps merge once, at the end.
#pragma once

#include "split_kv/narrow_tile.cuh"

namespace tilescope::kernels::split_kv {

// Grid: x = row tiles (fastest) and parts of the keys, y = KV heads, z = batch.
template <Dtype format, int head_dim, int tile_kv, int warps, int stages, int min_blocks>
__global__ void __launch_bounds__(warps * 32, min_blocks) narrow_partial(const PartialParams p) {
  using P = Narrow<format, head_dim, tile_kv, warps, stages>;
  using F = typename P::F;
  using Tile = typename P::Tile;
  constexpr int tile_q = narrow_rows;
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::uint32_t first_stage = device::shared_address(shared);
  const int lane = static_cast<int>(threadIdx.x) & 31, warp = static_cast<int>(threadIdx.x) / 32;
  const int first_key = warp * P::warp_keys;

  const int split = static_cast<int>(divide(blockIdx.x, p.row_tiles));
  const int first_row = (static_cast<int>(blockIdx.x) - split * static_cast<int>(p.row_tiles.value)) * tile_q;
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.z) * p.heads_kv + blockIdx.y;
  const int first_tile = split * p.part_tiles, last_tile = min(first_tile + p.part_tiles, p.tiles);

  KeyStream<format, head_dim, tile_kv, stages, P::warp_keys, 32> stream(p, head, first_tile, first_key, lane,
                                                                        first_stage);
#pragma unroll
  for (int j = 0; j < stages - 1; ++j) stream.copy(p, last_tile, lane);

  typename P::Query query;
  P::load_query(query, static_cast<const typename P::T*>(p.q) + (head * p.rows + first_row) * head_dim,
                lane / 4 < p.rows - first_row, lane);
  typename P::Offsets offsets;
  P::make_offsets(offsets, query, lane);
  int last_key[2];  // last visible key of the lane's two rows
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const auto row = static_cast<std::uint32_t>(first_row + (lane & 3) * 2 + i);
    const int at = static_cast<int>(row - divide(row, p.queries) * p.queries.value);
    last_key[i] = p.kv_len - 1 - (p.causal ? p.q_len - 1 - at : 0);
  }
  std::uint32_t lane_offset[4];  // within the warp's 16 keys: of each pair of chunks
#pragma unroll
  for (int pair = 0; pair < 4; ++pair) lane_offset[pair] = Tile::offset(lane & 15, lane >> 4) ^ (pair << 5);

  float o[P::out_blocks][4] = {};
  float row_max[2] = {-INFINITY, -INFINITY}, row_sum[2] = {0.0f, 0.0f};
  int slot = 0;
  for (int tile = first_tile; tile < last_tile; ++tile) {
    device::wait_copies<stages - 2>();
    __syncwarp();  // the warp's keys of this tile have arrived, and all its lanes are done with the previous tile
    stream.copy(p, last_tile, lane);
    const std::uint32_t at = first_stage + slot, k = at + first_key * P::kv_row;
    slot = slot == (stages - 1) * P::stage ? 0 : slot + P::stage;
    const std::uint32_t scales = at + 2 * P::kv_bytes + first_key * P::scale_row;
    float s[P::key_blocks][4];
#pragma unroll
    for (int n = 0; n < P::key_blocks; ++n)
      P::scores(s[n], query, offsets, k + n * 16 * P::kv_row, lane_offset, scales + (n * 16 + lane / 4) * P::scale_row);
    const int key = tile * tile_kv + first_key;  // first key of the warp
    if (key + P::warp_keys > p.kv_len - (p.causal ? p.q_len - 1 : 0)) {
#pragma unroll
      for (int n = 0; n < P::key_blocks; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          if (key + n * 16 + lane / 4 + i / 2 * 8 > last_key[i % 2]) s[n][i] = -INFINITY;
    }

    float correction[2], negative_max[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float max = fmaxf(s[0][i], s[0][i + 2]);
#pragma unroll
      for (int n = 1; n < P::key_blocks; ++n) max = fmaxf(max, fmaxf(s[n][i], s[n][i + 2]));
      max = fmaxf(row_max[i], __fmul_rn(warp_columns_max(max), p.scale_log2));
      // A row without a visible key so far keeps max = -inf. Using 0 in its place avoids inf - inf.
      const float negative = max == -INFINITY ? 0.0f : -max;
      correction[i] = device::exp2_fast(__fadd_rn(row_max[i], negative));
      row_max[i] = max;
      row_sum[i] = __fmul_rn(row_sum[i], correction[i]);
      negative_max[i] = F::lift == 0 ? negative : __fadd_rn(negative, static_cast<float>(F::lift));
    }
#pragma unroll
    for (int n = 0; n < P::out_blocks; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) o[n][i] = __fmul_rn(o[n][i], correction[i % 2]);

#pragma unroll
    for (int n = 0; n < P::key_blocks; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        s[n][i] = device::exp2_fast(__fmaf_rn(s[n][i], p.scale_log2, negative_max[i % 2]));
        row_sum[i % 2] = __fadd_rn(row_sum[i % 2], s[n][i]);
      }
      const std::uint32_t probabilities[2] = {transposed(P::Mma::pack(s[n][0], s[n][1])),
                                              transposed(P::Mma::pack(s[n][2], s[n][3]))};
      P::accumulate(o, probabilities, k + P::kv_bytes + n * 16 * P::kv_row, lane_offset,
                    scales + P::scales + (n * 16 + (lane & 3) * 2) * P::scale_row);
    }
  }

  // Merge the warps through the shared memory of the stages, after rescaling every warp's sums to the common maximum.
  asm volatile("griddepcontrol.launch_dependents;\n" ::: "memory");  // see merge_launch.h
  device::wait_copies<0>();
  __syncthreads();
  constexpr int pitch = head_dim + 4;                      // floats a row: rows 2t start 8 banks apart
  float* const merged = reinterpret_cast<float*>(shared);  // [warps][tile_q][pitch]
  float* const stats = merged + warps * tile_q * pitch;    // [2][warps][tile_q]: maxima, sums
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    row_sum[i] = warp_columns_sum(row_sum[i]);
    if (lane < 4) {
      stats[warp * tile_q + lane * 2 + i] = row_max[i];
      stats[(warps + warp) * tile_q + lane * 2 + i] = row_sum[i];
    }
  }
  __syncthreads();
  float log_sum = 0.0f;  // of row `lane`, in the first eight lanes: one store
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = (lane & 3) * 2 + i;
    float max = stats[row];
#pragma unroll
    for (int w = 1; w < warps; ++w) max = fmaxf(max, stats[w * tile_q + row]);
    const float negative = max == -INFINITY ? 0.0f : -max;
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < warps; ++w)
      sum = __fmaf_rn(stats[(warps + w) * tile_q + row],
                      device::exp2_fast(__fadd_rn(stats[w * tile_q + row], negative)), sum);
    const float inverse = sum > 0.0f ? __fmul_rn(device::reciprocal_fast(sum), p.v_descale) : 0.0f;
    const float factor = __fmul_rn(inverse, device::exp2_fast(__fadd_rn(row_max[i], negative)));
    if (warp == 0) {
      const float log2_sum = __fadd_rn(__fadd_rn(max, device::log2_fast(sum)), static_cast<float>(-F::lift));
      const float l = sum > 0.0f ? __fmul_rn(log2_sum, 0.6931471805599453f) : -INFINITY;
      const float of_row = __shfl_sync(0xffffffffu, l, lane / 2 & 3);  // of row lane, where i is its parity
      log_sum = i == lane % 2 ? of_row : log_sum;
    }
    float* const to = merged + (warp * tile_q + row) * pitch;
#pragma unroll
    for (int n = 0; n < P::out_blocks; ++n)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int block = n % (P::blocks / 2) * 2 + half, unit = lane / 4;
        to[n / (P::blocks / 2) * F::chunk_values + F::o_column(block, unit % 2, unit / 2)] =
            __fmul_rn(o[n][half * 2 + i], factor);
      }
  }
  const std::int64_t out_row = (static_cast<std::int64_t>(split) * gridDim.z * p.heads_kv + head) * p.rows + first_row;
  if (warp == 0 && lane < tile_q && first_row + lane < p.rows) p.l_part[out_row + lane] = log_sum;
  __syncthreads();
  float* const out = p.o_part + out_row * head_dim;
  store_merged<tile_q, head_dim, pitch, warps, P::threads>(out, merged, p.rows - first_row);
}

}  // namespace tilescope::kernels::split_kv
