// Absorbed multi-head latent attention of one part of the keys. All heads read one latent array C; its 576 columns are
// the keys, its first 512 the values, so each tile of C is loaded once and used by both products.
//
// A block owns 64 of a sequence's rows (heads x q_len). The output is 64 x 512 in fp32, half the registers of a
// multiprocessor: two consumer warpgroups hold 256 columns each. The first also computes S and the softmax; it takes P
// as the A operand from its registers and hands it to the second through shared memory. One thread of a third warpgroup
// loads tiles by TMA. The second warpgroup's product of tile j runs while the first does the softmax of tile j + 1.
#pragma once

#include "common/shared_tile.cuh"
#include "common/tma.cuh"
#include "common/wgmma.cuh"
#include "mla_decode/mla_decode.h"

namespace tilescope::kernels::mla_decode {

using device::Element;

constexpr int first_barrier = 1;  // named barrier of the first warpgroup

struct Barriers {  // mbarriers, 8 bytes each
  std::uint32_t base;
  __device__ __forceinline__ std::uint32_t q() const { return base; }
  __device__ __forceinline__ std::uint32_t full(int s) const { return base + 8 + 8 * s; }        // a tile of C is there
  __device__ __forceinline__ std::uint32_t left_free(int s) const { return base + 24 + 8 * s; }  // panels 0-3 and 8
  __device__ __forceinline__ std::uint32_t right_free(int s) const { return base + 40 + 8 * s; }  // panels 4-7
  __device__ __forceinline__ std::uint32_t p_full() const { return base + 56; }
  __device__ __forceinline__ std::uint32_t p_free() const { return base + 64; }
  __device__ __forceinline__ std::uint32_t sums() const { return base + 72; }  // the rows' reciprocals are there
};

constexpr int left_panels = 4;  // V's columns of the first warpgroup: panels 0-3; of the second: 4-7; 8 is not in V

constexpr int score_unroll = 3;  // all nine at once keep descriptors in registers that O needs
using PTile = device::SharedTile<tile_kv>;

// Four 8x8 matrices, the fragment of an A operand, to the rows whose addresses the lanes give.
__device__ __forceinline__ void store_matrices(std::uint32_t address, const std::uint32_t (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};\n" ::"r"(address), "r"(r[0]), "r"(r[1]),
               "r"(r[2]), "r"(r[3])
               : "memory");
}

// O += P V of this warpgroup's 256 columns. The panels of V start at `v`.
__device__ __forceinline__ std::uint64_t v_descriptor(std::uint32_t v, int step) {
  return device::step_descriptor(device::mn_major(v, panel_bytes), static_cast<std::uint32_t>(step) * 16 * 128);
}

// This warpgroup's half of the output, normalised, to the workspace: 8 bytes a lane, whole 32-byte sectors a quad.
__device__ __forceinline__ void store_output(const float (&o)[128], const float (&inverse)[2], float* out, int row,
                                             int valid_rows, int lane) {
#pragma unroll
  for (int half = 0; half < 2; ++half)
    if (row + half * 8 < valid_rows) {
      float* const to = out + static_cast<std::int64_t>(row + half * 8) * d_v + (lane & 3) * 2;
#pragma unroll
      for (int n = 0; n < 32; ++n)
        asm volatile("st.global.v2.f32 [%0], {%1,%2};\n" ::"l"(to + n * 8),
                     "f"(__fmul_rn(o[n * 4 + half * 2], inverse[half])),
                     "f"(__fmul_rn(o[n * 4 + half * 2 + 1], inverse[half]))
                     : "memory");
    }
}

template <class T>
struct Softmax {
  float max[2] = {-INFINITY, -INFINITY}, sum[2] = {0.0f, 0.0f};

  // S becomes P, packed as the A operand of four 16-key steps; `correction` is what O must be multiplied with.
  __device__ __forceinline__ void step(float (&s)[32], std::uint32_t (&p)[4][4], float (&correction)[2],
                                       float scale_log2) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float largest = fmaxf(s[half * 2], s[half * 2 + 1]);
#pragma unroll
      for (int n = 1; n < 8; ++n) largest = fmaxf(largest, fmaxf(s[n * 4 + half * 2], s[n * 4 + half * 2 + 1]));
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
      largest = fmaxf(max[half], __fmul_rn(largest, scale_log2));
      // A row without a visible key so far keeps max = -inf. Using 0 in its place avoids inf - inf.
      const float negative = largest == -INFINITY ? 0.0f : -largest;
      correction[half] = device::exp2_fast(__fadd_rn(max[half], negative));
      max[half] = largest;
      sum[half] = __fmul_rn(sum[half], correction[half]);
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        const float low = device::exp2_fast(__fmaf_rn(s[n * 4 + half * 2], scale_log2, negative));
        const float high = device::exp2_fast(__fmaf_rn(s[n * 4 + half * 2 + 1], scale_log2, negative));
        sum[half] = __fadd_rn(sum[half], low);
        sum[half] = __fadd_rn(sum[half], high);
        p[n / 2][n % 2 * 2 + half] = Element<T>::pack(low, high);
      }
    }
  }
};

__device__ __forceinline__ void rescale(float (&o)[128], const float (&correction)[2]) {
#pragma unroll
  for (int n = 0; n < 32; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) o[n * 4 + i] = __fmul_rn(o[n * 4 + i], correction[i / 2]);
}

// Grid: x = row tiles (fastest) and parts of the keys, y = batch.
template <class T>
__global__ void __launch_bounds__(warps * 32, 1) partial(const __grid_constant__ PartialParams p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::uint32_t q_tile = device::shared_address(shared), c_tiles = q_tile + tile_bytes;
  const std::uint32_t p_tile = q_tile + p_offset, statistics = q_tile + statistics_offset;
  const Barriers barriers{q_tile + barriers_offset};
  const int thread = static_cast<int>(threadIdx.x), lane = thread & 31;
  const int group = __shfl_sync(0xffffffffu, thread / 128, 0);  // the same for a warp, and the compiler knows
  const int split = static_cast<int>(divide(blockIdx.x, p.row_tiles));
  const int first_row = (static_cast<int>(blockIdx.x) - split * static_cast<int>(p.row_tiles.value)) * tile_q;
  const int batch = static_cast<int>(blockIdx.y);
  const int first_tile = split * p.part_tiles, steps = max(0, min(p.part_tiles, p.tiles - first_tile));

  if (thread == 0) {
    device::init_barrier(barriers.q(), 1);
    for (int s = 0; s < stages; ++s) {
      device::init_barrier(barriers.full(s), 1);
      device::init_barrier(barriers.left_free(s), 128);
      device::init_barrier(barriers.right_free(s), 128);
    }
    device::init_barrier(barriers.p_full(), 128);
    device::init_barrier(barriers.p_free(), 128);
    device::init_barrier(barriers.sums(), 128);
    device::fence_barrier_init();
  }
  __syncthreads();

  if (group == 2) {  // the producer
    device::give_up_registers<40>();
    if (thread / 32 == 8 && steps > 0 && device::elect_lane()) {
      device::prefetch_map(&p.q), device::prefetch_map(&p.c);
      device::arrive_expect(barriers.q(), tile_bytes);
      device::load_tile(q_tile, &p.q, barriers.q(), 0, first_row, 0, batch);
      for (int j = 0; j < steps; ++j) {
        const int s = j % stages, parity = (j / stages & 1) ^ 1, tile = first_tile + j;
        int row = tile * tile_kv, outer = batch;
        if (p.block_table != nullptr) {
          const int page = static_cast<int>(divide(static_cast<std::uint32_t>(tile), p.table_tiles));
          outer = __ldg(p.block_table + static_cast<std::int64_t>(batch) * p.page_pitch + page);
          row = (tile - page * p.page_tiles) * tile_kv;
        }
        const std::uint32_t to = c_tiles + s * tile_bytes;
        device::wait_barrier(barriers.left_free(s), parity);
        device::arrive_expect(barriers.full(s), tile_bytes);
        // The first warpgroup is done with the tile before the second: its panels are loaded first.
        for (int panel = 0; panel < left_panels; ++panel)
          device::load_tile(to + panel * panel_bytes, &p.c, barriers.full(s), 0, row, panel, outer);
        device::load_tile(to + (panels - 1) * panel_bytes, &p.c, barriers.full(s), 0, row, panels - 1, outer);
        device::wait_barrier(barriers.right_free(s), parity);
        for (int panel = left_panels; panel < 2 * left_panels; ++panel)
          device::load_tile(to + panel * panel_bytes, &p.c, barriers.full(s), 0, row, panel, outer);
      }
    }
    return;
  }
  device::take_registers<232>();

  float o[128];
#pragma unroll
  for (float& value : o) value = 0.0f;
  const int row = thread % 128 / 32 * 16 + lane / 4;  // of the tile; and row + 8
  float* const out = p.o_part + ((static_cast<std::int64_t>(split) * gridDim.y + batch) * p.rows + first_row) * d_v;
  const auto store_row = [&](int index, float value) {
    asm volatile("st.shared.f32 [%0], %1;\n" ::"r"(statistics + index * 4), "f"(value) : "memory");
  };
  const auto load_row = [&](int index) {
    float value;
    asm volatile("ld.shared.f32 %0, [%1];\n" : "=f"(value) : "r"(statistics + index * 4) : "memory");
    return value;
  };

  if (group == 0) {
    int last_key[2];  // last visible key of the rows `row` and `row` + 8
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const auto index = static_cast<std::uint32_t>(first_row + row + half * 8);
      const int query = static_cast<int>(index - divide(index, p.queries) * p.queries.value);
      last_key[half] = p.kv_len - 1 - (p.causal ? p.q_len - 1 - query : 0);
    }
    const std::uint32_t p_lane = PTile::a_lane(p_tile + thread / 32 * 16 * PTile::pitch, lane);
    Softmax<T> softmax;
    float s[32];
    // Waits until tile j is there, and for pages puts zeros where there is no key: what lies there may be anything.
    const auto prepare_tile = [&](int j) {
      device::wait_barrier(barriers.full(j % stages), j / stages & 1);
      const int valid = p.kv_len - (first_tile + j) * tile_kv;
      if (valid >= tile_kv || p.block_table == nullptr) return;
      const std::uint32_t tile = c_tiles + j % stages * tile_bytes;
      for (int i = thread; i < (tile_kv - valid) * panels * 8; i += 128)
        asm volatile("st.shared.v4.b32 [%0], {%1,%1,%1,%1};\n" ::"r"(tile + i / 8 % panels * panel_bytes +
                                                                     (valid + i / (8 * panels)) * 128 + i % 8 * 16),
                     "r"(0)
                     : "memory");
      device::fence_async_proxy();
      device::sync_named(first_barrier, 128);
    };
    const auto issue_scores = [&](int j) {
      const std::uint32_t tile = c_tiles + j % stages * tile_bytes;
      // The order in which the panels arrive: 0-3, 8, 4-7.
#pragma unroll score_unroll
      for (int i = 0; i < panels; ++i) {
        const int panel = i < left_panels ? i : i == left_panels ? panels - 1 : i - 1;
#pragma unroll
        for (int step = 0; step < 4; ++step)
          device::Wgmma<64>::ss<T>(s,
                                   device::step_descriptor(device::k_major(q_tile),
                                                           static_cast<std::uint32_t>(panel * panel_bytes + step * 32)),
                                   device::step_descriptor(device::k_major(tile),
                                                           static_cast<std::uint32_t>(panel * panel_bytes + step * 32)),
                                   i > 0 || step > 0);
        // In the loop, behind a product: where none comes right before it, the assembler adds an m64n8k16 product to
        // carry the commit, which the counter of fp16 operations shows.
        device::commit_products();
      }
    };
    // From S of tile j to O, then S of the next tile. O is waited for first, so that its tile is free early: issuing
    // the scores behind it without a wait kept the tile longer and was 12 % slower. The last tile is told apart at
    // compile time: a product issued under a condition would make the compiler wait for every single one.
    const auto step = [&](int j, auto is_last) {
      constexpr bool last = decltype(is_last)::value;
      const int key = (first_tile + j) * tile_kv;
      if (key + tile_kv > p.kv_len - (p.causal ? p.q_len - 1 : 0)) {
#pragma unroll
        for (int i = 0; i < 32; ++i)
          if (key + i / 4 * 8 + (lane & 3) * 2 + i % 2 > last_key[i / 2 % 2]) s[i] = -INFINITY;
      }
      std::uint32_t probabilities[4][4];
      float correction[2];
      softmax.step(s, probabilities, correction, p.scale_log2);
      rescale(o, correction);
      device::fence_operands();
      const std::uint32_t v = c_tiles + j % stages * tile_bytes;
#pragma unroll
      for (int i = 0; i < 4; ++i)
        device::Wgmma<256>::rs<T, device::Major::mn>(o, probabilities[i], v_descriptor(v, i), 1);
      device::commit_products();
      // P and the correction for the other warpgroup, once it has read the ones before.
      device::wait_barrier(barriers.p_free(), (j & 1) ^ 1);
#pragma unroll
      for (int i = 0; i < 4; ++i) store_matrices(PTile::step(p_lane, 0, i), probabilities[i]);
      if ((lane & 3) == 0) store_row(row, correction[0]), store_row(row + 8, correction[1]);
      device::fence_async_proxy();
      device::arrive(barriers.p_full());
      device::wait_products<0>();
      device::pin(o);
      device::arrive(barriers.left_free(j % stages));
      if constexpr (!last) {
        prepare_tile(j + 1);
        device::fence_operands();
        issue_scores(j + 1);
        device::wait_products<0>();
        device::pin(s);
      }
    };
    if (steps > 0) {
      device::wait_barrier(barriers.q(), 0);
      prepare_tile(0);
      device::fence_operands();
      issue_scores(0);
      device::wait_products<0>();
      device::pin(s);
      for (int j = 0; j < steps - 1; ++j) step(j, std::false_type{});
      step(steps - 1, std::true_type{});
    }
    asm volatile("griddepcontrol.launch_dependents;\n" ::: "memory");  // see split_kv/merge_launch.h
    float inverse[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = softmax.sum[half];
      sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, 1));
      sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, 2));
      inverse[half] = sum > 0.0f ? device::reciprocal_fast(sum) : 0.0f;
      const int at = row + half * 8;
      if ((lane & 3) == 0) {
        store_row(tile_q + at, inverse[half]);
        if (first_row + at < p.rows)
          p.l_part[(static_cast<std::int64_t>(split) * gridDim.y + batch) * p.rows + first_row + at] =
              sum > 0.0f ? __fmul_rn(__fadd_rn(softmax.max[half], device::log2_fast(sum)), 0.6931471805599453f)
                         : -INFINITY;
      }
    }
    device::arrive(barriers.sums());
    store_output(o, inverse, out, row, p.rows - first_row, lane);
  } else {
    for (int j = 0; j < steps; ++j) {
      device::wait_barrier(barriers.p_full(), j & 1);
      const float correction[2] = {load_row(row), load_row(row + 8)};
      rescale(o, correction);
      device::fence_operands();
      const std::uint32_t v = c_tiles + j % stages * tile_bytes + left_panels * panel_bytes;
#pragma unroll
      for (int step = 0; step < 4; ++step)
        device::Wgmma<256>::ss<T, device::Major::k, device::Major::mn>(
            o, device::step_descriptor(device::k_major(p_tile), static_cast<std::uint32_t>(step) * 32),
            v_descriptor(v, step), 1);
      device::commit_products();
      device::wait_products<0>();
      device::pin(o);
      device::arrive(barriers.p_free());
      device::arrive(barriers.right_free(j % stages));
    }
    device::wait_barrier(barriers.sums(), 0);
    const float inverse[2] = {load_row(tile_q + row), load_row(tile_q + row + 8)};
    store_output(o, inverse, out + d_v / 2, row, p.rows - first_row, lane);
  }
}

}  // namespace tilescope::kernels::mla_decode
