#include "validate/measure/point_arrays.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>

#include "kernels/formats.h"
#include "kernels/oracle.h"
#include "validate/measure/cuda_check.h"

namespace tilescope::validate {
namespace {

std::int64_t rows_of(const kernels::Shape& s) { return s.batch * s.heads_q * s.q_len; }

// The forward kernel that provides a backward pass with O and L: the first of its format that takes the problem, or
// none.
std::optional<kernels::Variant> forward_for(const kernels::Variant& backward, const kernels::Problem& problem) {
  for (const kernels::Variant& variant : kernels::built_variants())
    if (variant.kernel == "fused_mma" && variant.dtype == backward.dtype && variant.head_dim == problem.shape.d_qk &&
        kernels::unsupported_reason(variant, problem.shape, problem.mask).empty())
      return variant;
  return std::nullopt;
}

}  // namespace

DeviceBuffer* PointArrays::add(std::size_t bytes) {
  buffers_.push_back(std::make_unique<DeviceBuffer>(bytes));
  return buffers_.back().get();
}

void* PointArrays::values(std::size_t count, kernels::Dtype dtype, std::uint64_t seed) {
  DeviceBuffer* buffer = add(kernels::bytes_of(dtype, static_cast<std::int64_t>(count)));
  fill_normal(buffer->get(), count, dtype, seed, nullptr);
  return buffer->get();
}

void* PointArrays::scales(std::size_t count, kernels::Dtype dtype, std::uint64_t seed) {
  if (kernels::scale_group(dtype) == 0) return nullptr;
  const std::size_t groups = count / static_cast<std::size_t>(kernels::scale_group(dtype));
  DeviceBuffer* buffer = add(groups * 2);
  fill_scales(buffer->get(), groups, dtype, seed, nullptr);
  return buffer->get();
}

void* PointArrays::poisoned(std::size_t bytes) {
  DeviceBuffer* buffer = add(bytes);
  if (bytes > 0) check_cuda(cudaMemset(buffer->get(), 0xFF, bytes), "poisoning an output");
  return buffer->get();
}

void* PointArrays::uploaded(const void* data, std::size_t bytes) {
  DeviceBuffer* buffer = add(bytes);
  check_cuda(cudaMemcpy(buffer->get(), data, bytes, cudaMemcpyHostToDevice), "uploading an input");
  return buffer->get();
}

PointArrays::PointArrays(const kernels::Variant& variant, const kernels::Shape& s, kernels::Mask mask,
                         const MaskData& mask_data, std::int64_t splits) {
  problem_.shape = s, problem_.mask = mask, problem_.splits = splits;
  problem_.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(s.d_qk)));
  problem_.window = mask_data.window, problem_.block_q = mask_data.block_q, problem_.block_kv = mask_data.block_kv;
  if (!mask_data.blocks.empty())
    problem_.block_mask = static_cast<const std::uint8_t*>(uploaded(mask_data.blocks.data(), mask_data.blocks.size()));
  std::int64_t keys = s.batch * s.heads_kv * s.kv_len;
  if (variant.paged) {
    const std::int64_t page_size = std::max(64, variant.tile_kv);
    std::vector<std::int32_t> table(static_cast<std::size_t>(s.batch * ((s.kv_len + page_size - 1) / page_size)));
    std::iota(table.begin(), table.end(), 0);
    std::shuffle(table.begin(), table.end(), std::mt19937_64(7));
    problem_.block_table = static_cast<const std::int32_t*>(uploaded(table.data(), table.size() * sizeof table[0]));
    problem_.page_size = page_size, problem_.pages = static_cast<std::int64_t>(table.size());
    keys = problem_.pages * page_size * s.heads_kv;
  }
  const auto k_count = static_cast<std::size_t>(keys * s.d_qk), v_count = static_cast<std::size_t>(keys * s.d_v);
  problem_.q = values(static_cast<std::size_t>(rows_of(s) * s.d_qk), variant.dtype_q(), 1);
  problem_.k = values(k_count, variant.dtype_k(), 2), problem_.k_scales = scales(k_count, variant.dtype_k(), 12);
  if (!kernels::v_in_k(variant))
    problem_.v = values(v_count, variant.dtype_v(), 3), problem_.v_scales = scales(v_count, variant.dtype_v(), 13);
  add_outputs(variant);
}

void PointArrays::add_outputs(const kernels::Variant& variant) {
  const kernels::Shape& s = problem_.shape;
  const std::int64_t keys = s.batch * s.heads_kv * s.kv_len;
  problem_.o = poisoned(kernels::bytes_of(variant.dtype, rows_of(s) * s.d_v));
  problem_.l = static_cast<float*>(poisoned(static_cast<std::size_t>(rows_of(s)) * sizeof(float)));
  if (kernels::pass_of(variant) == kernels::Pass::backward) {
    run_forward(variant);
    problem_.d_o = values(static_cast<std::size_t>(rows_of(s) * s.d_v), variant.dtype, 4);
    problem_.d_q = poisoned(kernels::bytes_of(variant.dtype, rows_of(s) * s.d_qk));
    problem_.d_k = poisoned(kernels::bytes_of(variant.dtype, keys * s.d_qk));
    problem_.d_v = poisoned(kernels::bytes_of(variant.dtype, keys * s.d_v));
  }
  problem_.workspace = poisoned(kernels::workspace_bytes(variant, problem_));
}

// Computed by a kernel. If none is built for the format and head_dim, computed in double precision on the CPU (small
// problems only: 10^9 multiply-adds take a second).
void PointArrays::run_forward(const kernels::Variant& backward) {
  if (const auto variant = forward_for(backward, problem_)) {
    for (const kernels::Launch& launch : kernels::prepare(*variant, problem_)) launch.enqueue(nullptr);
    check_cuda(cudaDeviceSynchronize(), "the forward pass");
    return;
  }
  const kernels::Shape& s = problem_.shape;
  const auto keys = static_cast<std::size_t>(s.batch * s.heads_kv * s.kv_len),
             rows = static_cast<std::size_t>(rows_of(s));
  const auto d_qk = static_cast<std::size_t>(s.d_qk), d_v = static_cast<std::size_t>(s.d_v);
  const std::vector<float> q = read_as_float(problem_.q, 0, rows * d_qk, backward.dtype_q());
  const std::vector<float> k = read_as_float(problem_.k, 0, keys * d_qk, backward.dtype_k());
  const std::vector<float> v = read_as_float(problem_.v, 0, keys * d_v, backward.dtype_v());
  kernels::OracleInput input{s, problem_.mask, static_cast<double>(problem_.scale), q.data(), k.data(), v.data()};
  input.window = problem_.window;
  const kernels::OracleResult result = kernels::attention_oracle(input);
  const kernels::Encoded o = kernels::encode(backward.dtype, std::vector<float>(result.o.begin(), result.o.end()));
  const std::vector<float> l(result.l.begin(), result.l.end());
  check_cuda(cudaMemcpy(problem_.o, o.raw.data(), o.raw.size(), cudaMemcpyHostToDevice), "uploading O");
  check_cuda(cudaMemcpy(problem_.l, l.data(), l.size() * sizeof(float), cudaMemcpyHostToDevice), "uploading L");
}

}  // namespace tilescope::validate
