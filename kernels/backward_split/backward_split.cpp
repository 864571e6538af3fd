#include "backward_split/backward_split.h"

#include "backward/backward.h"
#include "base/error.h"
#include "common/family.h"
#include "common/instances.h"
#include "common/launch.h"
#include "common/tma.h"

namespace tilescope::kernels {

const std::vector<backward_split::Instance>& backward_split::instances() {
  static const std::vector<Instance> all = joined<Instance>({fp16_instances, bf16_instances});
  return all;
}

namespace {

using backward_split::Instance;
using backward_split::instances;

std::vector<Variant> variants() { return variants_of(instances()); }

std::string unsupported(const Variant& variant, const Shape& shape, Mask) {
  return head_dim_problem(backward_split_family(), variant, shape);
}

std::size_t workspace(const Variant&, const Problem& problem) {  // D
  const Shape& s = problem.shape;
  return static_cast<std::size_t>(s.batch * s.heads_q * s.q_len * 4);
}

std::vector<Launch> prepare_split(const Variant& variant, const Problem& problem) {
  if (std::string reason = pointer_problem(problem, 16, Needs::gradients); !reason.empty())
    throw InputError(Diagnostic{"", 0, 0, "backward_split", reason});
  const Instance& instance = instance_of(instances(), variant);
  const Shape& s = problem.shape;
  float* d = static_cast<float*>(problem.workspace);
  const std::int64_t all_q = s.batch * s.heads_q, all_kv = s.batch * s.heads_kv;
  const float scale_log2 = problem.scale * 1.4426950408889634f;

  backward::MainParams keys{};
  keys.q = make_tile_map(problem.q, 2, s.d_qk, s.q_len, all_q, variant.tile_q);
  keys.d_o = make_tile_map(problem.d_o, 2, s.d_v, s.q_len, all_q, variant.tile_q);
  keys.k = make_tile_map(problem.k, 2, s.d_qk, s.kv_len, all_kv, variant.tile_kv);
  keys.v = make_tile_map(problem.v, 2, s.d_v, s.kv_len, all_kv, variant.tile_kv);
  keys.d_k = make_tile_map(problem.d_k, 2, s.d_qk, s.kv_len, all_kv, backward::group_keys);
  keys.d_v = make_tile_map(problem.d_v, 2, s.d_v, s.kv_len, all_kv, backward::group_keys);
  keys.l = problem.l, keys.d = d;
  keys.q_len = static_cast<int>(s.q_len), keys.kv_len = static_cast<int>(s.kv_len);
  keys.group = static_cast<int>(s.heads_q / s.heads_kv);
  keys.causal = problem.mask == Mask::causal;
  keys.scale = problem.scale, keys.scale_log2 = scale_log2;

  backward::QueryParams queries{};
  queries.q = keys.q, queries.d_o = keys.d_o, queries.k = keys.k, queries.v = keys.v;
  queries.d_q = make_tile_map(problem.d_q, 2, s.d_qk, s.q_len, all_q, backward::group_rows);
  queries.l = problem.l, queries.d = d;
  queries.q_len = keys.q_len, queries.kv_len = keys.kv_len, queries.causal = keys.causal;
  queries.heads_kv = static_cast<int>(s.heads_kv);
  queries.group = make_divisor(s.heads_q / s.heads_kv);
  queries.scale = problem.scale, queries.scale_log2 = scale_log2;

  const dim3 by_q(static_cast<unsigned>(ceil_div(s.q_len, variant.tile_q)), static_cast<unsigned>(s.heads_q),
                  static_cast<unsigned>(s.batch));
  const std::int64_t turn = backward::heads_a_turn(s, problem.mask);
  keys.turn = make_divisor(turn);
  const dim3 by_kv(static_cast<unsigned>(ceil_div(s.kv_len, variant.tile_kv) * turn),
                   static_cast<unsigned>(s.heads_kv / turn), static_cast<unsigned>(s.batch));
  return {make_launch("preprocess", instance.preprocess, {by_q, backward::pass_threads, 0},
                      backward::RowParams{problem.o, problem.d_o, d, nullptr, keys.q_len}),
          make_launch("dkv", instance.keys, {by_kv, backward::threads, instance.keys_smem_bytes}, keys),
          make_launch("dq", instance.queries, {by_q, backward::threads, instance.queries_smem_bytes}, queries)};
}

}  // namespace

Family backward_split_family() {
  return {"backward_split", variants, unsupported, workspace, prepare_split, Pass::backward};
}

}  // namespace tilescope::kernels
