#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "common/family.h"
#include "common/launch.h"
#include "common/softmax.h"
#include "reference/standard.h"

namespace tilescope::kernels {
namespace {

using reference::Instance;
using reference::ProductParams;

const std::vector<Instance>& instances() {
  static const std::vector<Instance> all = [] {
    std::vector<Instance> list = reference::fp16_instances();
    const std::vector<Instance> more = reference::bf16_instances();
    list.insert(list.end(), more.begin(), more.end());
    return list;
  }();
  return all;
}

const Instance& find(const Variant& v) {
  return *std::find_if(instances().begin(), instances().end(), [&](const Instance& i) {
    return i.variant.dtype == v.dtype && i.variant.head_dim == v.head_dim;
  });
}

std::vector<Variant> variants() {
  std::vector<Variant> list;
  for (const Instance& instance : instances()) list.push_back(instance.variant);
  return list;
}

std::string unsupported(const Variant& variant, const Shape& shape, Mask) {
  if (std::string problem = head_dim_problem(reference_family(), variant, shape); !problem.empty()) return problem;
  if (std::string problem = score_row_problem(shape); !problem.empty()) return problem;
  const std::int64_t tiles = ceil_div(shape.q_len, variant.tile_q) * ceil_div(shape.kv_len, variant.tile_kv);
  return grid_x_problem(tiles, "qk");
}

std::size_t workspace(const Variant&, const Problem& problem) { return 2 * score_matrix_bytes(problem.shape, 2); }

std::vector<Launch> prepare_reference(const Variant& variant, const Problem& problem) {
  if (std::string reason = pointer_problem(problem, 16, Needs::workspace); !reason.empty())
    throw InputError(Diagnostic{"", 0, 0, "reference", reason});
  const Instance& instance = find(variant);
  const Shape& s = problem.shape;
  const std::int64_t pitch = score_pitch(s, 2);
  void* scores = problem.workspace;
  void* weights = static_cast<char*>(problem.workspace) + score_matrix_bytes(s, 2);
  const auto heads = static_cast<unsigned>(s.heads_q), batch = static_cast<unsigned>(s.batch);
  const auto q_tiles = static_cast<unsigned>(ceil_div(s.q_len, variant.tile_q));
  const auto kv_tiles = static_cast<unsigned>(ceil_div(s.kv_len, variant.tile_kv));
  const auto threads = static_cast<unsigned>(variant.warps * 32);

  ProductParams qk{problem.q,
                   problem.k,
                   scores,
                   static_cast<int>(s.q_len),
                   static_cast<int>(s.kv_len),
                   static_cast<int>(pitch),
                   static_cast<int>(s.heads_kv),
                   problem.mask == Mask::causal,
                   make_divisor(s.heads_q / s.heads_kv),
                   make_divisor(kv_tiles),
                   problem.scale};
  ProductParams pv = qk;
  pv.a = weights, pv.b = problem.v, pv.c = problem.o;
  return {make_launch("qk", instance.qk, {dim3(q_tiles * kv_tiles, heads, batch), threads, instance.qk_smem_bytes}, qk),
          softmax_launch(instance.softmax(pitch), s, scores, weights, pitch),
          make_launch("pv", instance.pv, {dim3(q_tiles, heads, batch), threads, instance.pv_smem_bytes}, pv)};
}

}  // namespace

Family reference_family() {
  Family family{"reference", variants, unsupported, workspace, prepare_reference};
  family.results = {.writes_l = false, .rounds_scores = true};
  return family;
}

}  // namespace tilescope::kernels
