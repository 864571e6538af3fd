#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "common/family.h"

namespace tilescope::kernels {
namespace {

constexpr std::int64_t max_grid_yz = 65535;       // blocks in y and z, every compute capability
constexpr std::int64_t max_length = 1 << 29;      // row and key indices, and their sum, are 32-bit in the kernels
constexpr std::int64_t max_elements = 1LL << 40;  // keeps byte offsets far inside 64 bits

}  // namespace

std::string shape_problem(const Shape& s) {
  const std::pair<const char*, std::int64_t> sizes[] = {
      {"batch", s.batch}, {"heads_q", s.heads_q}, {"heads_kv", s.heads_kv}, {"q_len", s.q_len}, {"kv_len", s.kv_len},
      {"d_qk", s.d_qk},   {"d_v", s.d_v}};
  for (const auto& [name, size] : sizes)
    if (size < 1) return fmt::format("{} is {}; every size must be at least 1", name, size);
  for (const auto& [name, size] : {sizes[0], sizes[1]})
    if (size > max_grid_yz)
      return fmt::format("{} is {}; a launch holds at most {} (grid y and z)", name, size, max_grid_yz);
  for (const auto& [name, size] : {sizes[3], sizes[4]})
    if (size > max_length) return fmt::format("{} is {}; the kernels index at most {} rows", name, size, max_length);
  if (s.heads_q % s.heads_kv != 0)
    return fmt::format("heads_q {} is not a multiple of heads_kv {}; query heads share KV heads evenly", s.heads_q,
                       s.heads_kv);
  if (std::max(s.q_len, s.kv_len) > max_elements / (s.batch * s.heads_q) / std::max(s.d_qk, s.d_v))
    return "an array would hold more than 2^40 elements; reduce batch, heads or lengths";
  return {};
}

std::string pointer_problem(const Problem& p, std::size_t alignment, Needs needs) {
  std::vector<std::pair<const char*, const void*>> arrays = {{"q", p.q}, {"k", p.k}, {"v", p.v}, {"o", p.o}};
  if (needs != Needs::workspace) arrays.emplace_back("l", p.l);
  if (needs != Needs::log_sum_exp) arrays.emplace_back("workspace", p.workspace);
  if (needs == Needs::gradients)
    arrays.insert(arrays.end(), {{"d_o", p.d_o}, {"d_q", p.d_q}, {"d_k", p.d_k}, {"d_v", p.d_v}});
  for (const auto& [name, pointer] : arrays) {
    if (pointer == nullptr) return fmt::format("{} is a null pointer; give a device array", name);
    const std::size_t needed = std::string_view(name) == "l" ? alignof(float) : alignment;
    if (reinterpret_cast<std::uintptr_t>(pointer) % needed != 0)
      return fmt::format("{} is not aligned to {} bytes, which the kernel's accesses need", name, needed);
  }
  if (!(p.scale > 0.0f) || !std::isfinite(p.scale))
    return fmt::format("scale is {}; it must be positive and finite", p.scale);
  return {};
}

std::string head_dim_problem(const Family& family, const Variant& variant, const Shape& shape) {
  if (shape.d_v != shape.d_qk)
    return fmt::format("d_v {} differs from d_qk {}; {} is built for equal ones", shape.d_v, shape.d_qk, family.name);
  if (shape.d_qk == variant.head_dim) return {};
  std::set<int> built;
  for (const Variant& other : family.variants())
    if (other.dtype == variant.dtype) built.insert(other.head_dim);
  if (built.count(static_cast<int>(shape.d_qk)))
    return fmt::format("this variant is built for head_dim {}, the problem has {}; pick a variant of head_dim {}",
                       variant.head_dim, shape.d_qk, shape.d_qk);
  return fmt::format("head_dim {} is not built; built: {}", shape.d_qk, fmt::join(built, ", "));
}

}  // namespace tilescope::kernels
