// The backward pass step by step in plain fp32: P and dS in global memory, every product an FMA loop. Global loads go
// past L1 (ld.global.cg), so that what a block reads is read from L2 each time.
#include "common/tensor_core.cuh"
#include "reference_backward/standard_backward.h"

namespace tilescope::kernels::reference_backward {
namespace {

constexpr int tile = 64;
constexpr float log2_e = 1.4426950408889634f;
constexpr int threads = warps * 32;
constexpr int depth = 32;         // head_dim, keys or queries a step
constexpr int padded = tile + 4;  // row length of the transposed tiles: keeps float4 alignment, spreads the stores

__global__ void __launch_bounds__(threads) delta(const DeltaParams p) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * delta_rows + threadIdx.x / 32;
  if (row >= p.rows) return;
  const float *o = p.o + row * p.head_dim, *d_o = p.d_o + row * p.head_dim;
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x) % 32; i < p.head_dim; i += 32)
    sum = __fmaf_rn(__ldcg(o + i), __ldcg(d_o + i), sum);
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, distance));
  if (threadIdx.x % 32 == 0) p.d[row] = sum;
}

// Copies `tile` rows x `depth` columns of `source` (rows of row_elements), transposed, zeros outside.
__device__ __forceinline__ void load_transposed(float (*out)[padded], const float* source, std::int64_t row_elements,
                                                int valid_rows, int valid_columns) {
  const int column = static_cast<int>(threadIdx.x) % depth;
#pragma unroll
  for (int row = static_cast<int>(threadIdx.x) / depth; row < tile; row += threads / depth)
    out[column][row] = row < valid_rows && column < valid_columns ? __ldcg(source + row * row_elements + column) : 0.0f;
}

// Grid: x = kv tiles (fastest) times q tiles, y = query heads, z = batch. 4 x 4 scores a thread.
template <bool of_scores>
__global__ void __launch_bounds__(threads) score_step(const ScoreParams p) {
  __shared__ __align__(16) float a_tile[depth][padded], b_tile[depth][padded];
  __shared__ float of_rows[tile];  // L or D; read once a block
  const std::uint32_t q_index = divide(blockIdx.x, p.kv_tiles);
  const int first_key = static_cast<int>(blockIdx.x - q_index * p.kv_tiles.value) * tile;
  const int first_row = static_cast<int>(q_index) * tile;
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.z) * gridDim.y + blockIdx.y;
  const std::int64_t kv_head = static_cast<std::int64_t>(blockIdx.z) * p.heads_kv + divide(blockIdx.y, p.group);
  const float* a = p.a + (head * p.q_len + first_row) * p.head_dim;
  const float* b = p.b + (kv_head * p.kv_len + first_key) * p.head_dim;
  const int row = static_cast<int>(threadIdx.x) / 16 * 4, column = static_cast<int>(threadIdx.x) % 16 * 4;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < tile && first_row + thread < p.q_len)
    of_rows[thread] = __ldcg(p.row + head * p.q_len + first_row + thread);

  float s[4][4] = {};
  for (int d = 0; d < p.head_dim; d += depth) {
    load_transposed(a_tile, a + d, p.head_dim, p.q_len - first_row, p.head_dim - d);
    load_transposed(b_tile, b + d, p.head_dim, p.kv_len - first_key, p.head_dim - d);
    __syncthreads();
#pragma unroll 8
    for (int i = 0; i < depth; ++i) {
      const float4 rows4 = *reinterpret_cast<const float4*>(&a_tile[i][row]);
      const float4 columns4 = *reinterpret_cast<const float4*>(&b_tile[i][column]);
      const float rows[4] = {rows4.x, rows4.y, rows4.z, rows4.w};
      const float columns[4] = {columns4.x, columns4.y, columns4.z, columns4.w};
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
    if (i >= p.q_len || j >= p.pitch) continue;
    const std::int64_t at = (head * p.q_len + i) * p.pitch + j;
    const float of_row = of_rows[row + m];
    float4 out;
    float* values = &out.x;
    if constexpr (of_scores) {
      const int last = p.causal ? min(p.kv_len - 1, i + p.kv_len - p.q_len) : p.kv_len - 1;
#pragma unroll
      for (int n = 0; n < 4; ++n)
        values[n] = j + n > last ? 0.0f : device::exp2_fast(log2_e * __fmaf_rn(s[m][n], p.scale, -of_row));
    } else {
      const float4 weights4 = __ldcg(reinterpret_cast<const float4*>(p.p + at));
      const float weights[4] = {weights4.x, weights4.y, weights4.z, weights4.w};
#pragma unroll
      for (int n = 0; n < 4; ++n) values[n] = __fmul_rn(__fmul_rn(weights[n], __fadd_rn(s[m][n], -of_row)), p.scale);
    }
    *reinterpret_cast<float4*>(p.c + at) = out;
  }
}

// 64 rows and all of head_dim a block; a warp owns 8 rows, a lane every 32nd column. Grid: x = tiles of rows, y = heads
// of the rows (of_keys: KV heads), z = batch.
template <int slots, bool of_keys>
__global__ void __launch_bounds__(threads) gradient(const GradientParams p) {
  __shared__ __align__(16) float weights[depth][padded];  // [step][row]
  __shared__ float values[depth][slots * 32];
  const int first_row = static_cast<int>(blockIdx.x) * tile;
  const int row_length = of_keys ? p.kv_len : p.q_len, steps = of_keys ? p.q_len : p.kv_len;
  const std::int64_t own = static_cast<std::int64_t>(blockIdx.z) * gridDim.y + blockIdx.y;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;

  float sum[8][slots] = {};
  for (int r = 0; r < (of_keys ? p.group : 1); ++r) {
    const std::int64_t query_head = of_keys ? own * p.group + r : own;
    const std::int64_t b_head =
        of_keys ? query_head
                : static_cast<std::int64_t>(blockIdx.z) * p.heads_kv + static_cast<int>(blockIdx.y) / p.group;
    const float* w = p.w + query_head * p.q_len * p.pitch;
    const float* b = p.b + b_head * steps * p.head_dim;
    for (int step = 0; step < steps; step += depth) {
      if constexpr (of_keys) {
        for (int at = static_cast<int>(threadIdx.x); at < depth * tile; at += threads) {
          const int i = at / tile, row = at % tile;
          weights[i][row] = step + i < steps && first_row + row < p.pitch
                                ? __ldcg(w + static_cast<std::int64_t>(step + i) * p.pitch + first_row + row)
                                : 0.0f;
        }
      } else {
        load_transposed(weights, w + static_cast<std::int64_t>(first_row) * p.pitch + step, p.pitch,
                        p.q_len - first_row, p.pitch - step);
      }
      for (int row = warp; row < depth; row += warps)
#pragma unroll
        for (int n = 0; n < slots; ++n)
          values[row][n * 32 + lane] =
              step + row < steps && n * 32 + lane < p.head_dim
                  ? __ldcg(b + static_cast<std::int64_t>(step + row) * p.head_dim + n * 32 + lane)
                  : 0.0f;
      __syncthreads();
#pragma unroll 4
      for (int i = 0; i < depth; ++i) {
#pragma unroll
        for (int n = 0; n < slots; ++n) {
          const float value = values[i][n * 32 + lane];
#pragma unroll
          for (int m = 0; m < 8; ++m) sum[m][n] = __fmaf_rn(weights[i][warp * 8 + m], value, sum[m][n]);
        }
      }
      __syncthreads();
    }
  }
#pragma unroll
  for (int m = 0; m < 8; ++m)
#pragma unroll
    for (int n = 0; n < slots; ++n)
      if (first_row + warp * 8 + m < row_length && n * 32 + lane < p.head_dim)
        p.c[(own * row_length + first_row + warp * 8 + m) * p.head_dim + n * 32 + lane] = sum[m][n];
}

template <bool of_keys>
const void* gradient_for(std::int64_t head_dim) {
  if (head_dim <= 64) return reinterpret_cast<const void*>(&gradient<2, of_keys>);
  if (head_dim <= 128) return reinterpret_cast<const void*>(&gradient<4, of_keys>);
  return reinterpret_cast<const void*>(&gradient<8, of_keys>);
}

}  // namespace

const void* delta_function() { return reinterpret_cast<const void*>(&delta); }
const void* probabilities_function() { return reinterpret_cast<const void*>(&score_step<true>); }
const void* score_gradient_function() { return reinterpret_cast<const void*>(&score_step<false>); }
const void* query_gradient_function(std::int64_t head_dim) { return gradient_for<false>(head_dim); }
const void* key_gradient_function(std::int64_t head_dim) { return gradient_for<true>(head_dim); }

}  // namespace tilescope::kernels::reference_backward
