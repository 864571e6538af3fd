#include "backward/backward.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "common/family.h"
#include "common/instances.h"
#include "common/launch.h"
#include "common/tma.h"

namespace tilescope::kernels {

const std::vector<backward::Instance>& backward::instances() {
  static const std::vector<Instance> all = joined<Instance>({fp16_instances, bf16_instances});
  return all;
}

std::int64_t backward::heads_a_turn(const Shape& s, Mask mask) {
  // Q, dO and the fp32 sums of dQ of a KV head's queries, in half of the L2 of an H200: each of its two partitions
  // caches what its own SMs read.
  constexpr std::int64_t budget = 25 << 20;
  const std::int64_t bytes = s.heads_q / s.heads_kv * s.q_len * s.d_qk * (2 + 2 + 4);
  std::int64_t heads = mask == Mask::causal ? std::clamp(budget / bytes, std::int64_t{1}, s.heads_kv) : 1;
  while (s.heads_kv % heads != 0) --heads;
  return heads;
}

namespace {

using backward::Instance;
using backward::instances;

std::vector<Variant> variants() { return variants_of(instances()); }

std::string unsupported(const Variant& variant, const Shape& shape, Mask) {
  return head_dim_problem(backward_family(), variant, shape);
}

// D, then the fp32 sums of dQ, which are whole query tiles.
std::size_t d_bytes(const Shape& s) {
  return static_cast<std::size_t>(round_up(s.batch * s.heads_q * s.q_len * 4, 256));
}
std::size_t workspace(const Variant& variant, const Problem& problem) {
  const Shape& s = problem.shape;
  return d_bytes(s) + static_cast<std::size_t>(s.batch * s.heads_q * round_up(s.q_len, variant.tile_q) * s.d_qk * 4);
}

std::vector<Launch> prepare_backward(const Variant& variant, const Problem& problem) {
  if (std::string reason = pointer_problem(problem, 16, Needs::gradients); !reason.empty())
    throw InputError(Diagnostic{"", 0, 0, "backward", reason});
  const Instance& instance = instance_of(instances(), variant);
  const Shape& s = problem.shape;
  const int q_len = static_cast<int>(s.q_len);
  float* d = static_cast<float*>(problem.workspace);
  auto* d_q_sum = reinterpret_cast<float*>(static_cast<unsigned char*>(problem.workspace) + d_bytes(s));

  backward::MainParams main{};
  const std::int64_t all_q = s.batch * s.heads_q, all_kv = s.batch * s.heads_kv;
  main.q = make_tile_map(problem.q, 2, s.d_qk, s.q_len, all_q, variant.tile_q);
  main.d_o = make_tile_map(problem.d_o, 2, s.d_v, s.q_len, all_q, variant.tile_q);
  main.k = make_tile_map(problem.k, 2, s.d_qk, s.kv_len, all_kv, variant.tile_kv);
  main.v = make_tile_map(problem.v, 2, s.d_v, s.kv_len, all_kv, variant.tile_kv);
  main.d_k = make_tile_map(problem.d_k, 2, s.d_qk, s.kv_len, all_kv, backward::group_keys);
  main.d_v = make_tile_map(problem.d_v, 2, s.d_v, s.kv_len, all_kv, backward::group_keys);
  main.l = problem.l, main.d = d, main.d_q = d_q_sum;
  main.q_len = q_len, main.kv_len = static_cast<int>(s.kv_len);
  main.group = static_cast<int>(s.heads_q / s.heads_kv);
  main.causal = problem.mask == Mask::causal;
  main.scale = problem.scale, main.scale_log2 = problem.scale * 1.4426950408889634f;

  const LaunchShape rows{dim3(static_cast<unsigned>(ceil_div(s.q_len, variant.tile_q)),
                              static_cast<unsigned>(s.heads_q), static_cast<unsigned>(s.batch)),
                         backward::pass_threads, 0};
  const std::int64_t turn = backward::heads_a_turn(s, problem.mask);
  main.turn = make_divisor(turn);
  const LaunchShape keys{dim3(static_cast<unsigned>(ceil_div(s.kv_len, variant.tile_kv) * turn),
                              static_cast<unsigned>(s.heads_kv / turn), static_cast<unsigned>(s.batch)),
                         backward::threads, instance.smem_bytes};
  return {make_launch("preprocess", instance.preprocess, rows,
                      backward::RowParams{problem.o, problem.d_o, d, d_q_sum, q_len}),
          make_launch("main", instance.main, keys, main),
          make_launch("convert", instance.convert, rows,
                      backward::ConvertParams{d_q_sum, problem.d_q, q_len, problem.scale})};
}

}  // namespace

Family backward_family() { return {"backward", variants, unsupported, workspace, prepare_backward, Pass::backward}; }

}  // namespace tilescope::kernels
