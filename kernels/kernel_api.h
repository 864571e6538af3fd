// What every bundled kernel offers to the test driver and to `measure`. No CUDA types, so that the CUDA-free part of
// the program may include it.
//
// Arrays are dense, row-major: Q [batch, heads_q, q_len, d_qk], K [batch, heads_kv, kv_len, d_qk],
// V [batch, heads_kv, kv_len, d_v], O [batch, heads_q, q_len, d_v], L [batch, heads_q, q_len] (log-sum-exp of the
// scaled scores, natural logarithm, fp32). Query head h reads KV head h / (heads_q / heads_kv).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tilescope::kernels {

enum class Dtype { fp32, fp16, bf16 };
enum class Mask { none, causal };  // causal is bottom-right aligned: query i sees keys j <= i + kv_len - q_len

struct Shape {
  std::int64_t batch = 1, heads_q = 1, heads_kv = 1, q_len = 1, kv_len = 1, d_qk = 64, d_v = 64;
};

// One built template combination. Equal to a `variants` row of the folder's kernel.yaml.
struct Variant {
  std::string kernel;  // folder name: "reference", "reference_fp32", "fused_mma"
  Dtype dtype = Dtype::fp16;
  int head_dim = 64;   // 0: any
  int tile_q = 0, tile_kv = 0, warps = 0;
};

// Device pointers; scale multiplies the scores before softmax.
struct Problem {
  Shape shape;
  Mask mask = Mask::none;
  float scale = 1.0f;
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  void* o = nullptr;
  float* l = nullptr;        // may be null where the kernel's descriptor says so
  void* workspace = nullptr; // workspace_bytes(variant, shape) bytes
};

// One kernel launch of a schedule's island, with what the runtime knows about it.
struct Launch {
  std::string island;  // "forward"; "qk", "softmax", "pv" for the unfused reference
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  int registers_per_thread = 0;
  std::int64_t static_smem_bytes = 0, dynamic_smem_bytes = 0, local_bytes_per_thread = 0;
  int blocks_per_unit = 0;                          // occupancy the runtime computes
  std::function<void(void* cuda_stream)> enqueue;   // throws DeviceError on a launch error
};

std::vector<Variant> built_variants();
// Why this variant cannot run this problem ("head_dim 96 is not built; built: 64, 128, 256"), or empty if it can.
std::string unsupported_reason(const Variant& variant, const Shape& shape, Mask mask);
std::size_t workspace_bytes(const Variant& variant, const Shape& shape);
// The launches in order. Throws InputError(unsupported_reason) or DeviceError.
std::vector<Launch> prepare(const Variant& variant, const Problem& problem);

}  // namespace tilescope::kernels
