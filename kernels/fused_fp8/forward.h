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

// A V tile as the product reads it: V^T in panels of 128 keys, or V itself where its elements have 2 bytes.
constexpr int value_bytes(int head_dim, int tile_kv, bool fp8_values) {
  return fp8_values ? head_dim * ((tile_kv + 127) / 128 * 128) : 2 * head_dim * tile_kv;
}
// Shared memory of a block: the Q tile, and `stages` each of K tiles, V tiles as the product reads them and, where
// those are transposed, V tiles as they arrive.
constexpr int smem_bytes(int head_dim, int tile_q, int tile_kv, int stages, bool fp8_values) {
  return head_dim * (tile_q + stages * tile_kv * (fp8_values ? 2 : 1)) +
         stages * value_bytes(head_dim, tile_kv, fp8_values) + barrier_bytes;
}

struct Instance {
  Variant variant;
  const void* function = nullptr;  // the __global__ function
};

const std::vector<Instance>& instances();

// Defined by instances/*.cu: fused_fp8 (Q, K and V in e4m3) by head_dim, and fused_fp8_qk (Q and K alone).
std::vector<Instance> fp8_d64();
std::vector<Instance> fp8_d128();
std::vector<Instance> fp8_d256();
std::vector<Instance> fp8_scores();

}  // namespace tilescope::kernels::fused_fp8
