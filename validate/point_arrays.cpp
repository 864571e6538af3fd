#include "validate/point_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "base/error.h"
#include "kernels/formats.h"
#include "validate/cuda_check.h"

namespace tilescope::validate {
namespace {

std::int64_t rows_of(const kernels::Shape& s) { return s.batch * s.heads_q * s.q_len; }

// The forward kernel that provides a backward pass with O and L: the first of its format that takes the problem.
kernels::Variant forward_for(const kernels::Variant& backward, const kernels::Problem& problem) {
  for (const kernels::Variant& variant : kernels::built_variants())
    if (variant.kernel == "fused_mma" && variant.dtype == backward.dtype && variant.head_dim == problem.shape.d_qk &&
        kernels::unsupported_reason(variant, problem.shape, problem.mask).empty())
      return variant;
  throw InputError(Diagnostic{
      .path = backward.kernel,
      .message = fmt::format("no forward kernel is built for head_dim {}, which a backward pass starts from",
                             problem.shape.d_qk)});
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

void PointArrays::run_forward(const kernels::Variant& backward) {
  for (const kernels::Launch& launch : kernels::prepare(forward_for(backward, problem_), problem_))
    launch.enqueue(nullptr);
  check_cuda(cudaDeviceSynchronize(), "the forward pass");
}

}  // namespace tilescope::validate
