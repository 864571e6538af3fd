// Standard attention in plain fp32: the structure of reference/ (qk, softmax, pv) with FMA instead of tensor cores and
// any head_dim up to 256. Global loads go past L1 (ld.global.cg), so that what a block reads is read from L2 each time.
#include "common/row_softmax.cuh"
#include "reference_fp32/standard_fp32.h"

namespace tilescope::kernels::reference_fp32 {
namespace {

constexpr int tile = 64;  // tile_q and tile_kv
constexpr int threads = 256;
constexpr int depth = 32;         // head_dim (qk) or keys (pv) a step
constexpr int padded = tile + 4;  // row length of the transposed tiles: keeps float4 alignment, spreads the stores

// Copies `tile` rows x `depth` columns of `source` (rows of `row_elements`), transposed, zeros outside.
__device__ __forceinline__ void load_transposed(float (*out)[padded], const float* source, std::int64_t row_elements,
                                                int valid_rows, int valid_columns) {
  const int column = static_cast<int>(threadIdx.x) % depth;
#pragma unroll
  for (int row = static_cast<int>(threadIdx.x) / depth; row < tile; row += threads / depth)
    out[column][row] = row < valid_rows && column < valid_columns ? __ldcg(source + row * row_elements + column) : 0.0f;
}

// S = scale * Q K^T of one 64 x 64 tile, 4 x 4 scores a thread. Grid: x = kv tiles (fastest) times q tiles, y = query
// heads, z = batch.
__global__ void __launch_bounds__(threads) qk(const ProductParams p) {
  __shared__ __align__(16) float q_tile[depth][padded], k_tile[depth][padded];
  const std::uint32_t q_index = divide(blockIdx.x, p.kv_tiles);
  const int first_key = static_cast<int>(blockIdx.x - q_index * p.kv_tiles.value) * tile;
  const int first_row = static_cast<int>(q_index) * tile;
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.z) * gridDim.y + blockIdx.y;
  const std::int64_t kv_head = static_cast<std::int64_t>(blockIdx.z) * p.heads_kv + divide(blockIdx.y, p.group);
  const float* q = p.a + (head * p.q_len + first_row) * p.head_dim;
  const float* k = p.b + (kv_head * p.kv_len + first_key) * p.head_dim;
  const int row = static_cast<int>(threadIdx.x) / 16 * 4, column = static_cast<int>(threadIdx.x) % 16 * 4;

  float s[4][4] = {};
  for (int d = 0; d < p.head_dim; d += depth) {
    load_transposed(q_tile, q + d, p.head_dim, p.q_len - first_row, p.head_dim - d);
    load_transposed(k_tile, k + d, p.head_dim, p.kv_len - first_key, p.head_dim - d);
    __syncthreads();
#pragma unroll 8
    for (int i = 0; i < depth; ++i) {
      const float4 a = *reinterpret_cast<const float4*>(&q_tile[i][row]);
      const float4 b = *reinterpret_cast<const float4*>(&k_tile[i][column]);
      const float rows[4] = {a.x, a.y, a.z, a.w}, columns[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
      for (int m = 0; m < 4; ++m)
#pragma unroll
        for (int n = 0; n < 4; ++n) s[m][n] = __fmaf_rn(rows[m], columns[n], s[m][n]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int m = 0; m < 4; ++m) {
    const int i = first_row + row + m, j = first_key + column;
    const int last = p.causal ? min(p.kv_len - 1, i + p.kv_len - p.q_len) : p.kv_len - 1;
    std::uint32_t out[4];
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const float scaled = device::multiply_always(s[m][n], p.scale);
      out[n] = __float_as_uint(j + n > last ? -INFINITY : scaled);
    }
    if (i < p.q_len && j < p.pitch)
      device::store_16(p.c + (head * p.q_len + i) * p.pitch + j, make_uint4(out[0], out[1], out[2], out[3]));
  }
}

// O = P V, 64 rows and all of head_dim a block; a warp owns 8 rows, a lane every 32nd column. `slots` x 32 columns are
// computed, the ones past head_dim on zeros. Grid: x = q tiles (fastest), y = query heads, z = batch.
template <int slots>
__global__ void __launch_bounds__(threads) pv(const ProductParams p) {
  __shared__ __align__(16) float weights[tile][depth];
  __shared__ float values[depth][slots * 32];
  const int first_row = static_cast<int>(blockIdx.x) * tile;
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.z) * gridDim.y + blockIdx.y;
  const std::int64_t kv_head = static_cast<std::int64_t>(blockIdx.z) * p.heads_kv + divide(blockIdx.y, p.group);
  const float* w = p.a + (head * p.q_len + first_row) * p.pitch;
  const float* v = p.b + kv_head * p.kv_len * p.head_dim;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp_row = static_cast<int>(threadIdx.x) / 32 * 8;

  float o[8][slots] = {};
  for (int key = 0; key < p.kv_len; key += depth) {
#pragma unroll
    for (int row = static_cast<int>(threadIdx.x) / depth; row < tile; row += threads / depth)
      weights[row][lane] = first_row + row < p.q_len && key + lane < p.pitch
                               ? __ldcg(w + static_cast<std::int64_t>(row) * p.pitch + key + lane)
                               : 0.0f;
    for (int row = static_cast<int>(threadIdx.x) / 32; row < depth; row += threads / 32)
#pragma unroll
      for (int n = 0; n < slots; ++n)
        values[row][n * 32 + lane] = key + row < p.kv_len && n * 32 + lane < p.head_dim
                                         ? __ldcg(v + static_cast<std::int64_t>(key + row) * p.head_dim + n * 32 + lane)
                                         : 0.0f;
    __syncthreads();
#pragma unroll 4
    for (int i = 0; i < depth; ++i) {
#pragma unroll
      for (int n = 0; n < slots; ++n) {
        const float value = values[i][n * 32 + lane];
#pragma unroll
        for (int m = 0; m < 8; ++m) o[m][n] = __fmaf_rn(weights[warp_row + m][i], value, o[m][n]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int m = 0; m < 8; ++m)
#pragma unroll
    for (int n = 0; n < slots; ++n)
      if (first_row + warp_row + m < p.q_len && n * 32 + lane < p.head_dim)
        p.c[(head * p.q_len + first_row + warp_row + m) * p.head_dim + n * 32 + lane] = o[m][n];
}

}  // namespace

const void* qk_function() { return reinterpret_cast<const void*>(&qk); }

const void* pv_function(std::int64_t head_dim) {
  if (head_dim <= 64) return reinterpret_cast<const void*>(&pv<2>);
  if (head_dim <= 128) return reinterpret_cast<const void*>(&pv<4>);
  return reinterpret_cast<const void*>(&pv<8>);
}

const void* softmax_function(std::int64_t pitch) { return device::row_softmax_for<float>(pitch); }

}  // namespace tilescope::kernels::reference_fp32
