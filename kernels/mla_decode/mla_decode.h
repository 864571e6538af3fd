// What host and device share of the MLA decode kernel. Its partial results are merged by split_kv's combine kernel.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <vector>

#include "common/divisor.h"
#include "kernel_api.h"

namespace tilescope::kernels::mla_decode {

constexpr int d_qk = 576, d_v = 512;  // the latent and 64 rotary columns; V is the latent
constexpr int tile_q = 64, tile_kv = 64, stages = 2, warps = 12;
constexpr int panel_columns = 64, panels = d_qk / panel_columns;  // 128 bytes of each row, see common/tma.h
constexpr int panel_bytes = 64 * 128, tile_bytes = panels * panel_bytes;

// Q, two tiles of the latent, P, and the statistics and barriers behind them.
constexpr int p_offset = (1 + stages) * tile_bytes;
constexpr int statistics_offset = p_offset + tile_q * tile_kv * 2;
constexpr int barriers_offset = statistics_offset + 2 * tile_q * 4;
constexpr int smem_bytes = barriers_offset + 128;

struct PartialParams {
  CUtensorMap q, c;                 // tiles of 64 rows and all panels
  const std::int32_t* block_table;  // null: the latent is contiguous
  float *o_part, *l_part;           // [splits, batch, rows, d_v] and without d_v
  int rows, q_len, kv_len, causal;  // rows: heads_q * q_len, which lie together in Q, O and L
  int tiles, part_tiles;            // KV tiles in all, and of a part (the last parts may have fewer, or none)
  int page_tiles, page_pitch;       // KV tiles a page, pages a sequence
  Divisor row_tiles;                // tiles that the rows of a sequence fill
  Divisor queries;                  // q_len
  Divisor table_tiles;              // page_tiles
  float scale_log2;                 // scale * log2(e)
};

struct Instance {
  Variant variant;                // not paged; the same function reads pages when a block table is given
  const void* partial = nullptr;  // the __global__ functions
  const void *combine = nullptr, *combine_few = nullptr;
};

Instance fp16();
Instance bf16();

}  // namespace tilescope::kernels::mla_decode
