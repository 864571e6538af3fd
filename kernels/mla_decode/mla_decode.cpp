#include "mla_decode/mla_decode.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "common/family.h"
#include "common/launch.h"
#include "common/tma.h"
#include "split_kv/choose_splits.h"
#include "split_kv/merge_launch.h"

namespace tilescope::kernels {
namespace {

using mla_decode::Instance;
using mla_decode::PartialParams;

const std::vector<Instance>& instances() {
  static const std::vector<Instance> all = {mla_decode::fp16(), mla_decode::bf16()};
  return all;
}

const Instance& find(const Variant& v) {
  return *std::find_if(instances().begin(), instances().end(),
                       [&](const Instance& i) { return i.variant.dtype == v.dtype; });
}

template <bool paged>
std::vector<Variant> variants() {
  std::vector<Variant> list;
  for (const Instance& instance : instances()) {
    list.push_back(instance.variant);
    if (paged) list.back().kernel = "mla_decode_paged";
    list.back().paged = paged;
    list.back().stages = 0;  // as stated by the descriptor's island
  }
  return list;
}

std::string unsupported(const Variant&, const Shape& shape, Mask) {
  if (shape.d_qk != mla_decode::d_qk || shape.d_v != mla_decode::d_v)
    return fmt::format("d_qk {}, d_v {} is not built; built: {}, {}", shape.d_qk, shape.d_v, mla_decode::d_qk,
                       mla_decode::d_v);
  if (shape.heads_kv != 1)
    return fmt::format("heads_kv is {}; in absorbed MLA all heads read one latent, heads_kv is 1", shape.heads_kv);
  if (shape.q_len > mla_decode::tile_q)
    return fmt::format("q_len {} exceeds tile_q {}; mla_decode is for few queries, whose rows of one head fit a tile",
                       shape.q_len, mla_decode::tile_q);
  return {};
}

[[noreturn]] void refuse(const std::string& reason) { throw InputError(Diagnostic{"", 0, 0, "mla_decode", reason}); }

std::int64_t rows_of(const Shape& s) { return s.heads_q * s.q_len; }  // of a sequence
std::int64_t row_tiles(const Shape& s) { return ceil_div(rows_of(s), mla_decode::tile_q); }
std::int64_t tiles(const Shape& s) { return ceil_div(s.kv_len, mla_decode::tile_kv); }

LaunchShape partial_shape(const Shape& s, std::int64_t splits) {
  LaunchShape shape;
  shape.grid = dim3(static_cast<unsigned>(row_tiles(s) * splits), static_cast<unsigned>(s.batch));
  shape.threads = mla_decode::warps * 32;
  shape.dynamic_smem_bytes = mla_decode::smem_bytes;
  return shape;
}

std::int64_t splits(const Variant& v, const Problem& p) {
  if (p.splits > split_kv::max_splits || p.splits < 0)
    refuse(
        fmt::format("splits is {}; it must be 1 to {}, or 0 for the kernel's choice", p.splits, split_kv::max_splits));
  if (p.splits > 0) return split_kv::filled_parts(tiles(p.shape), p.splits);
  return split_kv::choose_splits(
      p.shape.batch * row_tiles(p.shape), tiles(p.shape),
      split_kv::resident_blocks(describe_launch("partial", find(v).partial, partial_shape(p.shape, 1))),
      mla_decode::stages);
}

std::size_t workspace(const Variant& v, const Problem& p) {
  return static_cast<std::size_t>(splits(v, p) * p.shape.batch * rows_of(p.shape) * (mla_decode::d_v + 1)) *
         sizeof(float);
}

std::string problem_of(const Variant& v, const Problem& p) {
  if (!v.paged && p.block_table != nullptr)
    return "a block table was given to a variant without pages; pick a paged one";
  if (v.paged && p.block_table == nullptr) return "block_table is a null pointer; a paged variant needs one";
  if (v.paged && (p.page_size < 1 || p.page_size % mla_decode::tile_kv != 0))
    return fmt::format("page_size is {}; it must be a positive multiple of tile_kv {}", p.page_size,
                       mla_decode::tile_kv);
  if (v.paged && p.pages < 1) return fmt::format("pages is {}; the pool must hold at least 1", p.pages);
  Problem shared = p;
  shared.v = p.k;  // V is the first columns of K
  return pointer_problem(shared, 16, Needs::workspace);
}

std::vector<Launch> prepare_mla(const Variant& v, const Problem& problem) {
  using namespace mla_decode;
  if (const std::string reason = problem_of(v, problem); !reason.empty()) refuse(reason);
  const Shape& s = problem.shape;
  const Instance& instance = find(v);
  const std::int64_t parts = splits(v, problem), rows = rows_of(s);

  PartialParams params{};
  // C in boxes of 64 keys and one panel: dimensions (column of a panel, key, panel, sequence or page).
  const std::int64_t keys = v.paged ? problem.page_size : s.kv_len, arrays = v.paged ? problem.pages : s.batch;
  constexpr std::uint64_t pitch = d_qk * 2;
  params.c = make_tensor_map(
      problem.k, 2, {panel_columns, static_cast<std::uint64_t>(keys), panels, static_cast<std::uint64_t>(arrays)},
      {pitch, panel_columns * 2, pitch * static_cast<std::uint64_t>(keys)}, {panel_columns, tile_kv, 1, 1});
  params.q = make_tile_map(problem.q, 2, d_qk, rows, s.batch, tile_q);
  params.o_part = static_cast<float*>(problem.workspace);
  params.l_part = params.o_part + parts * s.batch * rows * d_v;
  params.rows = static_cast<int>(rows), params.q_len = static_cast<int>(s.q_len);
  params.kv_len = static_cast<int>(s.kv_len);
  params.causal = problem.mask == Mask::causal;
  params.tiles = static_cast<int>(tiles(s)), params.part_tiles = static_cast<int>(ceil_div(tiles(s), parts));
  params.row_tiles = make_divisor(row_tiles(s)), params.queries = make_divisor(s.q_len);
  params.page_tiles = 1, params.table_tiles = make_divisor(1);
  if (v.paged) {
    params.block_table = problem.block_table;
    params.page_tiles = static_cast<int>(problem.page_size / tile_kv);
    params.table_tiles = make_divisor(params.page_tiles);
    params.page_pitch = static_cast<int>(ceil_div(s.kv_len, problem.page_size));
  }
  params.scale_log2 = problem.scale * 1.4426950408889634f;

  split_kv::CombineParams merge{};
  merge.o_part = params.o_part, merge.l_part = params.l_part, merge.o = problem.o, merge.l = problem.l;
  merge.rows = s.batch * rows, merge.splits = static_cast<int>(parts);
  return {make_launch("partial", instance.partial, partial_shape(s, parts), params),
          split_kv::merge_launch(instance.combine, instance.combine_few, d_v, merge)};
}

}  // namespace

std::vector<Family> mla_decode_families() {
  Family contiguous{"mla_decode", variants<false>, unsupported, workspace, prepare_mla};
  contiguous.v_in_k = true;
  contiguous.splits = splits;
  Family paged = contiguous;
  paged.name = "mla_decode_paged", paged.variants = variants<true>;
  return {contiguous, paged};
}

}  // namespace tilescope::kernels
