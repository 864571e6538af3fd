// What every bundled kernel offers to the test driver and to `measure`. No CUDA types, so that the CUDA-free part of
// the program may include it.
//
// Arrays are dense, row-major: Q [batch, heads_q, q_len, d_qk], K [batch, heads_kv, kv_len, d_qk],
// V [batch, heads_kv, kv_len, d_v], O [batch, heads_q, q_len, d_v], L [batch, heads_q, q_len] (log-sum-exp of the
// scaled scores, natural logarithm, fp32). Query head h reads KV head h / (heads_q / heads_kv). A backward pass takes
// O, L and the gradient dO (like O) and gives dQ, dK and dV (like Q, K and V).
// Paged K and V are pools [pages, heads_kv, page_size, d]; key j of sequence b lies in page
// block_table[b, j / page_size], block_table being int32 [batch, ceil(kv_len / page_size)].
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "diagram/mask.h"
#include "diagram/pass.h"

namespace tilescope::kernels {

using Dtype = Format;   // kernels are built for fp32, fp16, bf16, fp8_e4m3, int8 and int4
using Mask = MaskKind;  // a kernel lists those that it takes
using tilescope::Pass;

// Consecutive values along the last axis that share one fp16 scale (value = code * scale); 0: the format has none.
// int4 codes are -8 ... 7, two a byte, the even element in the low four bits.
constexpr int scale_group(Dtype dtype) { return dtype == Dtype::int8 ? 64 : dtype == Dtype::int4 ? 32 : 0; }

struct Shape {
  std::int64_t batch = 1, heads_q = 1, heads_kv = 1, q_len = 1, kv_len = 1, d_qk = 64, d_v = 64;
};

// One built template combination. Equal to a `variants` row of the folder's kernel.yaml.
struct Variant {
  std::string kernel;         // folder name: "reference", "fused_mma", ...
  Dtype dtype = Dtype::fp16;  // of O, and of Q, K and V where they have none of their own
  int head_dim = 64;          // d_qk; 0: any
  int tile_q = 0, tile_kv = 0, warps = 0;
  int stages = 0;  // 0: the one number that the kernel's descriptor states
  std::optional<Dtype> q = {}, k = {}, v = {};
  bool paged = false;  // K and V come through a block table

  Dtype dtype_q() const { return q.value_or(dtype); }
  Dtype dtype_k() const { return k.value_or(dtype); }
  Dtype dtype_v() const { return v.value_or(dtype); }
  friend bool operator==(const Variant&, const Variant&) = default;
};

// Device pointers, null where the variant does not use them; scale multiplies the scores before softmax.
struct Problem {
  Shape shape;
  Mask mask = Mask::none;
  float scale = 1.0f;
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  void* o = nullptr;          // an input of a backward pass
  float* l = nullptr;         // likewise; may be null where the kernel's descriptor says so
  void* workspace = nullptr;  // workspace_bytes(variant, problem) bytes

  std::int64_t window = 0;                   // Mask::window: keys that a query sees
  const std::uint8_t* block_mask = nullptr;  // Mask::blocks: [ceil(q_len / block_q), ceil(kv_len / block_kv)], 0 or 1
  std::int64_t block_q = 0, block_kv = 0;

  const std::int32_t* block_table = nullptr;  // paged variants
  std::int64_t page_size = 0;
  std::int64_t pages = 0;  // in the pool

  std::int64_t splits = 0;  // parts of the keys; 0: the kernel chooses

  const void *k_scales = nullptr, *v_scales = nullptr;         // fp16 [batch, heads_kv, kv_len, d / scale_group]
  float q_descale = 1.0f, k_descale = 1.0f, v_descale = 1.0f;  // fp8: value = code * descale

  const void* d_o = nullptr;
  void *d_q = nullptr, *d_k = nullptr, *d_v = nullptr;
};

// One kernel launch of a schedule's island, with what the runtime knows about it.
struct Launch {
  std::string island;  // of the schedule: "forward"; "qk", "softmax", "pv" for the unfused reference
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  int registers_per_thread = 0;
  std::int64_t static_smem_bytes = 0, dynamic_smem_bytes = 0, local_bytes_per_thread = 0;
  int blocks_per_unit = 0;                         // occupancy the runtime computes
  std::function<void(void* cuda_stream)> enqueue;  // throws DeviceError on a launch error
};

std::vector<Variant> built_variants();
std::vector<std::string> built_kernels();
Pass pass_of(const Variant& variant);
// What a forward kernel leaves behind, and where it rounds to the dtype on the way.
struct Results {
  bool writes_l = true;
  bool rounds_scores = false;             // S and P are stored between launches
  bool rounds_output_every_tile = false;  // O is stored and read again at every tile of keys
};
Results results_of(const Variant& variant);
bool v_in_k(const Variant& variant);  // V is the first d_v columns of K; Problem::v is not used
// Why this variant cannot run this problem ("head_dim 96 is not built; built: 64, 128, 256"), or empty if it can.
std::string unsupported_reason(const Variant& variant, const Shape& shape, Mask mask);
// Of `problem` only what is no pointer is looked at. Throws InputError(unsupported_reason).
std::size_t workspace_bytes(const Variant& variant, const Problem& problem);
// The number of parts that the kernel divides the keys into; 1 for a kernel that does not.
std::int64_t splits_of(const Variant& variant, const Problem& problem);
// The launches in order. Throws InputError(unsupported_reason) or DeviceError.
std::vector<Launch> prepare(const Variant& variant, const Problem& problem);

}  // namespace tilescope::kernels
