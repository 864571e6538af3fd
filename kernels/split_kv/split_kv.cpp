#include "split_kv/split_kv.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "common/family.h"
#include "common/instances.h"
#include "common/launch.h"
#include "split_kv/choose_splits.h"
#include "split_kv/merge_launch.h"

namespace tilescope::kernels {

const std::vector<split_kv::Instance>& split_kv::instances() {
  static const std::vector<Instance> all = joined<Instance>({kv_fp16, kv_bf16, kv_fp8, kv_int8, kv_int4});
  return all;
}

namespace {

using split_kv::CombineParams;
using split_kv::Instance;
using split_kv::instances;
using split_kv::PartialParams;

const Instance& find(const Variant& v) {
  Variant contiguous = v;
  contiguous.kernel = "split_kv", contiguous.paged = false;
  return instance_of(instances(), contiguous);
}

// Descriptors tell apart tiles of few rows and of many (of values and of codes); the former by what scales cost and by
// pages.
std::string kernel_of(const Variant& v, bool paged) {
  if (v.tile_q > 16) return bits(v.dtype_k()) < 16 ? "split_kv_wide_codes" : "split_kv_wide";
  const bool scaled = scale_group(v.dtype_k()) > 0;
  return "split_kv" + (scaled ? "_" + to_string(v.dtype_k()) : "") + (paged ? "_paged" : "");
}

std::vector<Variant> variants(const std::string& kernel) {
  const bool paged = kernel.ends_with("_paged");
  std::vector<Variant> list;
  for (const Instance& instance : instances()) {
    if (kernel_of(instance.variant, paged) != kernel) continue;
    list.push_back(instance.variant);
    list.back().kernel = kernel, list.back().paged = paged;
  }
  return list;
}

Family family_of(const Variant& v) {
  for (const Family& family : split_kv_families())
    if (v.kernel == family.name) return family;
  return {};
}

std::string unsupported(const Variant& variant, const Shape& shape, Mask) {
  if (std::string reason = head_dim_problem(family_of(variant), variant, shape); !reason.empty()) return reason;
  if (shape.q_len > variant.tile_q)
    return fmt::format("q_len {} exceeds tile_q {}; split_kv is for few queries, whose rows of one head fit a tile",
                       shape.q_len, variant.tile_q);
  return {};
}

[[noreturn]] void refuse(const std::string& reason) { throw InputError(Diagnostic{"", 0, 0, "split_kv", reason}); }

std::string paging_problem(const Variant& v, const Problem& p) {
  if (!v.paged) return p.block_table ? "a block table was given to a variant without pages; pick a paged one" : "";
  if (p.page_size < 1 || p.page_size % v.tile_kv != 0)
    return fmt::format("page_size is {}; it must be a positive multiple of tile_kv {}", p.page_size, v.tile_kv);
  return {};
}

// Why the arrays that depend on the format and on paging do not serve, or empty.
std::string arrays_problem(const Variant& v, const Problem& p) {
  if (v.paged && p.block_table == nullptr) return "block_table is a null pointer; a paged variant needs one";
  if (scale_group(v.dtype_k()) == 0) return {};
  for (const auto& [name, pointer] : {std::pair{"k_scales", p.k_scales}, std::pair{"v_scales", p.v_scales}}) {
    if (pointer == nullptr) return fmt::format("{} is a null pointer; give a device array", name);
    if (reinterpret_cast<std::uintptr_t>(pointer) % 16 != 0)
      return fmt::format("{} is not aligned to 16 bytes, which the kernel's accesses need", name);
  }
  return {};
}

struct Grid {
  std::int64_t rows, row_tiles, tiles, heads;  // rows of a KV head, their tiles, KV tiles, KV heads of the batch
};

Grid grid_of(const Variant& v, const Shape& s) {
  const std::int64_t rows = s.heads_q / s.heads_kv * s.q_len;
  return {rows, ceil_div(rows, v.tile_q), ceil_div(s.kv_len, v.tile_kv), s.batch * s.heads_kv};
}

LaunchShape partial_shape(const Variant& v, const Shape& s, std::int64_t splits) {
  const Grid g = grid_of(v, s);
  LaunchShape shape;
  shape.grid = dim3(static_cast<unsigned>(g.row_tiles * splits), static_cast<unsigned>(s.heads_kv),
                    static_cast<unsigned>(s.batch));
  shape.threads = static_cast<unsigned>(v.warps * 32);
  shape.dynamic_smem_bytes = split_kv::smem_bytes(v.dtype_k(), v.head_dim, v.tile_q, v.tile_kv, v.stages);
  return shape;
}

std::int64_t splits(const Variant& v, const Problem& p) {
  if (p.splits > split_kv::max_splits || p.splits < 0)
    refuse(
        fmt::format("splits is {}; it must be 1 to {}, or 0 for the kernel's choice", p.splits, split_kv::max_splits));
  const Grid g = grid_of(v, p.shape);
  if (p.splits > 0) return split_kv::filled_parts(g.tiles, p.splits);
  return split_kv::choose_splits(
      g.heads * g.row_tiles, g.tiles,
      split_kv::resident_blocks(describe_launch("partial", find(v).partial, partial_shape(v, p.shape, 1))), v.stages);
}

std::size_t workspace(const Variant& v, const Problem& p) {
  const std::int64_t rows = p.shape.batch * p.shape.heads_q * p.shape.q_len;
  return static_cast<std::size_t>(splits(v, p) * rows * (p.shape.d_v + 1)) * sizeof(float);
}

std::vector<Launch> prepare_split(const Variant& v, const Problem& problem) {
  const Shape& s = problem.shape;
  for (const std::string& reason :
       {paging_problem(v, problem), arrays_problem(v, problem), pointer_problem(problem, 16, Needs::workspace)})
    if (!reason.empty()) refuse(reason);
  const Instance& instance = find(v);
  const Grid g = grid_of(v, s);
  const std::int64_t parts = splits(v, problem), rows = s.batch * s.heads_q * s.q_len;

  PartialParams params{};
  params.q = problem.q, params.k = problem.k, params.v = problem.v;
  params.k_scales = problem.k_scales, params.v_scales = problem.v_scales;
  params.o_part = static_cast<float*>(problem.workspace);
  params.l_part = params.o_part + parts * rows * s.d_v;
  params.rows = static_cast<int>(g.rows), params.q_len = static_cast<int>(s.q_len);
  params.kv_len = static_cast<int>(s.kv_len), params.heads_kv = static_cast<int>(s.heads_kv);
  params.causal = problem.mask == Mask::causal;
  params.tiles = static_cast<int>(g.tiles), params.part_tiles = static_cast<int>(ceil_div(g.tiles, parts));
  params.row_tiles = make_divisor(g.row_tiles), params.queries = make_divisor(s.q_len);
  params.page_tiles = 1, params.table_tiles = make_divisor(1);
  if (v.paged) {
    params.block_table = problem.block_table;
    params.page_tiles = static_cast<int>(problem.page_size / v.tile_kv);
    params.table_tiles = make_divisor(params.page_tiles);
    params.page_pitch = static_cast<int>(ceil_div(s.kv_len, problem.page_size));
  }
  const bool fp8 = v.dtype_k() == Dtype::fp8_e4m3;
  params.scale_log2 = problem.scale * 1.4426950408889634f * (fp8 ? problem.k_descale : 1.0f);
  params.v_descale = fp8 ? problem.v_descale : 1.0f;

  CombineParams merge{};
  merge.o_part = params.o_part, merge.l_part = params.l_part, merge.o = problem.o, merge.l = problem.l;
  merge.rows = rows, merge.splits = static_cast<int>(parts);
  return {make_launch("partial", instance.partial, partial_shape(v, s, parts), params),
          split_kv::merge_launch(instance.combine, instance.combine_few, v.head_dim, merge)};
}

constexpr const char* names[] = {"split_kv",       "split_kv_int8",       "split_kv_int4",       "split_kv_wide",
                                 "split_kv_paged", "split_kv_int8_paged", "split_kv_int4_paged", "split_kv_wide_codes"};

template <std::size_t i>
Family family() {
  Family family{names[i], [] { return variants(names[i]); }, unsupported, workspace, prepare_split};
  family.splits = splits;
  return family;
}

template <std::size_t... i>
std::vector<Family> families(std::index_sequence<i...>) {
  return {family<i>()...};
}

}  // namespace

std::vector<Family> split_kv_families() { return families(std::make_index_sequence<std::size(names)>{}); }

}  // namespace tilescope::kernels
