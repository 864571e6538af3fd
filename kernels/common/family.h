// What a kernel folder offers to the registry, and the checks and launch code that all folders share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernel_api.h"

namespace tilescope::kernels {

// One kernel folder. The functions have the contracts of their namesakes in kernel_api.h; `unsupported_reason` and
// `prepare` are called with variants of this folder and shapes that passed `shape_problem` only.
struct Family {
  const char* name;
  std::vector<Variant> (*variants)();
  std::string (*unsupported_reason)(const Variant&, const Shape&, Mask);
  std::size_t (*workspace_bytes)(const Variant&, const Problem&);
  std::vector<Launch> (*prepare)(const Variant&, const Problem&);
  Pass pass = Pass::forward;
  std::vector<Mask> masks = {Mask::none, Mask::causal};
  bool v_in_k = false;
  Results results = {};
  std::int64_t (*splits)(const Variant&, const Problem&) = nullptr;  // null: the kernel does not split the keys
};

Family backward_family();
Family backward_split_family();
Family case_study_family();
Family block_sparse_family();
Family flash1_family();
Family fused_fp8_family();
Family fused_fp8_qk_family();
Family fused_fp8_vt_family();
Family fused_mma_family();
Family fused_wgmma_family();
Family reference_backward_family();
Family reference_family();
Family reference_fp32_family();
std::vector<Family> mla_decode_families();  // one per descriptor
std::vector<Family> split_kv_families();

// What is wrong with a shape for every kernel here (sizes not positive, heads not divisible, grid limits), or empty.
std::string shape_problem(const Shape& shape);
// What is wrong with a problem's pointers and scale, or empty. Every array but L must be aligned to `alignment` bytes.
// `needs`: what the kernel uses besides Q, K, V and O; gradients: all arrays of a backward pass and the workspace.
enum class Needs { log_sum_exp, workspace, gradients };
std::string pointer_problem(const Problem& problem, std::size_t alignment, Needs needs);
// "head_dim 96 is not built; built: 64, 128, 256", or d_v != d_qk, or empty.
std::string head_dim_problem(const Family& family, const Variant& variant, const Shape& shape);

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
inline std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

}  // namespace tilescope::kernels
