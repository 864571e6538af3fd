#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/error.h"
#include "common/family.h"
#include "common/instances.h"
#include "common/launch.h"
#include "common/tma.h"
#include "fused_fp8/forward.h"

namespace tilescope::kernels {

const std::vector<fused_fp8::Instance>& fused_fp8::instances() {
  static const std::vector<Instance> all = joined<Instance>({fp8_d64, fp8_d128, fp8_d256, fp8_scores, fp8_vt});
  return all;
}

namespace {

using fused_fp8::ForwardParams;
using fused_fp8::Instance;
using fused_fp8::instances;
using fused_fp8::Values;

constexpr std::int64_t max_tiles = 1 << 30;

std::vector<Variant> variants(Values values) {
  std::vector<Variant> list;
  for (const Instance& instance : instances())
    if (instance.variant.kernel == fused_fp8::name_of(values)) list.push_back(instance.variant);
  return list;
}

Values values_of(const Variant& variant) {
  if (variant.dtype_v() != Dtype::fp8_e4m3) return Values::wide;
  return variant.kernel == fused_fp8::name_of(Values::columns) ? Values::columns : Values::rows;
}

Family family_of(const Variant& variant) {
  switch (values_of(variant)) {
    case Values::wide:
      return fused_fp8_qk_family();
    case Values::columns:
      return fused_fp8_vt_family();
    default:
      return fused_fp8_family();
  }
}

// Keys of a head in V^T: whole blocks of the transposing launch; entries past the last key are zeros.
std::int64_t transposed_keys(const Shape& s) { return round_up(s.kv_len, fused_fp8::transpose_keys); }

std::size_t workspace(const Variant& variant, const Problem& problem) {
  const Shape& s = problem.shape;
  if (values_of(variant) != Values::columns) return 0;
  return static_cast<std::size_t>(s.batch * s.heads_kv * s.d_v * transposed_keys(s));
}

std::string unsupported(const Variant& variant, const Shape& s, Mask) {
  if (ceil_div(s.q_len, variant.tile_q) * s.heads_q * s.batch > max_tiles)
    return fmt::format("{} query tiles of {} rows are needed; the kernel numbers at most {}",
                       ceil_div(s.q_len, variant.tile_q) * s.heads_q * s.batch, variant.tile_q, max_tiles);
  if (values_of(variant) == Values::columns && s.batch * s.heads_kv > 65535)
    return fmt::format("{} KV heads in all batch entries; a grid that transposes V has room for 65535",
                       s.batch * s.heads_kv);
  return head_dim_problem(family_of(variant), variant, s);
}

std::string descale_problem(const Problem& p) {
  const std::pair<const char*, float> scales[] = {
      {"q_descale", p.q_descale}, {"k_descale", p.k_descale}, {"v_descale", p.v_descale}};
  for (const auto& [name, scale] : scales)
    if (!(scale > 0.0f) || !std::isfinite(scale))
      return fmt::format("{} is {}; it must be positive and finite", name, scale);
  return {};
}

// The order of the query tiles (Schedule in fused_wgmma): without a mask head by head; with one, sections of as many
// heads as have their K and V in half of L2, longest tiles first. A smaller section runs first. The last section then
// has enough tiles for all SMs and ends with short ones, so that all SMs finish at nearly the same time.
void order_tiles(ForwardParams& p, const Problem& problem, const Variant& variant) {
  const Shape& s = problem.shape;
  const std::int64_t heads = s.batch * s.heads_q, group = s.heads_q / s.heads_kv;
  std::int64_t section = 1;
  if (p.causal) {
    const std::int64_t kv_bytes = s.kv_len * s.d_qk * (bits(variant.dtype_k()) + bits(variant.dtype_v())) / 8;
    const std::int64_t half_of_l2 = device_attribute("fused_fp8", cudaDevAttrL2CacheSize) / 2;
    section = std::clamp<std::int64_t>(half_of_l2 / kv_bytes * group, 1, heads);
  }
  p.tiles_q = static_cast<int>(ceil_div(s.q_len, variant.tile_q));
  p.tiles = static_cast<int>(p.tiles_q * heads);
  p.section_heads = static_cast<int>(section);
  p.section_tiles = make_divisor(section * p.tiles_q);
  p.section = make_divisor(section);
  p.last_section_first = static_cast<int>((heads - 1) / section * section);
  p.last_section = make_divisor(heads - p.last_section_first);
  p.first_tile = heads % section == 0 ? 0 : p.last_section_first * p.tiles_q;
}

// V^T in the workspace as tiles of `tile_kv` keys: dimensions (byte of a row, row of a panel, panel, head). A panel is
// contiguous and already has its shared-memory layout (transpose.cuh), so that it may be cut into rows of any length.
CUtensorMap transposed_map(const Problem& problem, int tile_kv) {
  const Shape& s = problem.shape;
  const auto panel = static_cast<std::uint64_t>(fused_fp8::value_panel(tile_kv));
  const auto keys = static_cast<std::uint64_t>(transposed_keys(s)), columns = static_cast<std::uint64_t>(s.d_v);
  constexpr std::uint64_t row = 256;  // the longest row that a box may have
  const std::uint64_t rows = panel * columns / row;
  return make_tensor_map(problem.workspace, 1,
                         {row, rows, keys / panel, static_cast<std::uint64_t>(s.batch * s.heads_kv)},
                         {row, row * rows, keys * columns},
                         {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(rows),
                          static_cast<std::uint32_t>(tile_kv) / static_cast<std::uint32_t>(panel), 1});
}

Launch transposition(const Instance& instance, const Problem& problem) {
  const Shape& s = problem.shape;
  const fused_fp8::TransposeParams params{problem.v, problem.workspace, static_cast<int>(s.kv_len), transposed_keys(s)};
  LaunchShape shape;
  shape.grid =
      dim3(static_cast<unsigned>(params.keys / fused_fp8::transpose_keys), static_cast<unsigned>(s.batch * s.heads_kv));
  shape.threads = fused_fp8::transpose_threads;
  return make_launch("transpose", instance.transpose, shape, params);
}

std::vector<Launch> prepare_fp8(const Variant& variant, const Problem& problem) {
  const Values values = values_of(variant);
  std::string reason = pointer_problem(problem, 16, Needs::log_sum_exp);
  if (reason.empty() && values == Values::columns) reason = pointer_problem(problem, 16, Needs::workspace);
  if (reason.empty()) reason = descale_problem(problem);
  if (!reason.empty()) throw InputError(Diagnostic{"", 0, 0, variant.kernel, reason});
  const Instance& instance = instance_of(instances(), variant);
  const Shape& s = problem.shape;
  static std::atomic<unsigned> launches = 0;
  ForwardParams params{};
  params.q = make_tile_map(problem.q, 1, s.d_qk, s.q_len, s.batch * s.heads_q, 64);
  params.k = make_tile_map(problem.k, 1, s.d_qk, s.kv_len, s.batch * s.heads_kv, variant.tile_kv);
  params.v = values == Values::columns ? transposed_map(problem, variant.tile_kv)
                                       : make_tile_map(problem.v, values == Values::wide ? 2 : 1, s.d_v, s.kv_len,
                                                       s.batch * s.heads_kv, variant.tile_kv);
  params.o = problem.o, params.l = problem.l;
  params.q_len = static_cast<int>(s.q_len), params.kv_len = static_cast<int>(s.kv_len);
  params.causal = problem.mask == Mask::causal;
  params.claim_slot = static_cast<int>(launches++ % fused_fp8::claim_slots);
  params.group = make_divisor(s.heads_q / s.heads_kv);
  params.scale_log2 = problem.scale * problem.q_descale * problem.k_descale * 1.4426950408889634f;
  params.v_descale = values == Values::wide ? 1.0f : problem.v_descale;
  order_tiles(params, problem, variant);
  LaunchShape shape;
  const int units = device_attribute("fused_fp8", cudaDevAttrMultiProcessorCount);
  shape.grid = dim3(static_cast<unsigned>(std::min(params.tiles, units)));
  shape.threads = static_cast<unsigned>(variant.warps * 32);
  shape.dynamic_smem_bytes =
      fused_fp8::smem_bytes(variant.head_dim, variant.tile_q, variant.tile_kv, variant.stages, values);
  std::vector<Launch> list;
  if (values == Values::columns) {
    list.push_back(transposition(instance, problem));
    shape.early = true;  // the first Q K^T does not need V
  }
  list.push_back(make_launch("forward", instance.function, shape, params));
  return list;
}

}  // namespace

Family fused_fp8_family() {
  return {"fused_fp8", [] { return variants(Values::rows); }, unsupported, workspace, prepare_fp8};
}

Family fused_fp8_qk_family() {
  Family family = fused_fp8_family();
  family.name = "fused_fp8_qk", family.variants = [] { return variants(Values::wide); };
  return family;
}

Family fused_fp8_vt_family() {
  Family family = fused_fp8_family();
  family.name = "fused_fp8_vt", family.variants = [] { return variants(Values::columns); };
  return family;
}

}  // namespace tilescope::kernels
