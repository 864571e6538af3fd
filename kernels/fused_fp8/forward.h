// What host and device share of the fp8 kernel.
#pragma once

#include <vector>

#include "fused_wgmma/forward.h"
#include "kernel_api.h"

namespace tilescope::kernels::fused_fp8 {

// scale_log2 includes the descales of Q and K.
struct ForwardParams : fused_wgmma::ForwardParams {
  float v_descale;
};

using fused_wgmma::claim_slots;

constexpr int barrier_bytes = 256;

// Format of V. wide: 2-byte elements. rows: e4m3 with its keys as rows, transposed in shared memory. columns: e4m3,
// transposed by a previous launch.
enum class Values { wide, rows, columns };
constexpr const char* name_of(Values values) {  // the kernel's
  return values == Values::wide ? "fused_fp8_qk" : values == Values::rows ? "fused_fp8" : "fused_fp8_vt";
}

// Keys in a panel of V that a previous launch has transposed. They divide a tile and the keys that one block
// transposes.
constexpr int value_panel(int tile_kv) { return tile_kv % 64 == 0 ? 64 : 32; }

// A V tile as the product reads it: V^T in panels of 128 keys, or V itself where its elements have 2 bytes.
constexpr int value_bytes(int head_dim, int tile_kv, Values values) {
  if (values == Values::columns) return head_dim * tile_kv;
  return values == Values::rows ? head_dim * ((tile_kv + 127) / 128 * 128) : 2 * head_dim * tile_kv;
}
// Shared memory of a block: the Q tile, and `stages` each of K tiles, V tiles as the product reads them and, where
// the block transposes those, V tiles as they arrive.
constexpr int smem_bytes(int head_dim, int tile_q, int tile_kv, int stages, Values values) {
  return head_dim * (tile_q + stages * tile_kv * (values == Values::rows ? 2 : 1)) +
         stages * value_bytes(head_dim, tile_kv, values) + barrier_bytes;
}

// Parameters of the launch that transposes V (transpose.cuh): a head has kv_len keys, `keys` of them in V^T.
struct TransposeParams {
  const void* v;
  void* vt;
  int kv_len;
  std::int64_t keys;
};
constexpr int transpose_threads = 256, transpose_keys = 64;  // of a block

struct Instance {
  Variant variant;
  const void* function = nullptr;   // the __global__ function
  const void* transpose = nullptr;  // the __global__ function of the launch that transposes V, if there is one
};

const std::vector<Instance>& instances();

// Defined by instances/*.cu: fused_fp8 (Q, K and V in e4m3) by head_dim, fused_fp8_qk (Q and K alone), fused_fp8_vt
// (as fused_fp8, V transposed before).
std::vector<Instance> fp8_d64();
std::vector<Instance> fp8_d128();
std::vector<Instance> fp8_d256();
std::vector<Instance> fp8_scores();
std::vector<Instance> fp8_vt();

}  // namespace tilescope::kernels::fused_fp8
