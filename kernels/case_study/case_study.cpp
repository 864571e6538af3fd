
#include "base/error.h"
#include "case_study/forward.h"
#include "common/family.h"
#include "common/instances.h"
#include "common/launch.h"
#include "common/tma.h"

namespace tilescope::kernels {

const std::vector<case_study::Instance>& case_study::instances() {
  static const std::vector<Instance> all = joined<Instance>({fp16_d64, fp16_d128, fp16_d256});
  return all;
}

namespace {

using case_study::ForwardParams;
using case_study::Instance;
using case_study::instances;

std::vector<Variant> variants() { return variants_of(instances()); }

std::string unsupported(const Variant& variant, const Shape& shape, Mask) {
  return head_dim_problem(case_study_family(), variant, shape);
}

std::vector<Launch> prepare_case_study(const Variant& variant, const Problem& problem) {
  if (std::string reason = pointer_problem(problem, 16, Needs::log_sum_exp); !reason.empty())
    throw InputError(Diagnostic{"", 0, 0, "case_study", reason});
  const Instance& instance = instance_of(instances(), variant);
  const Shape& s = problem.shape;
  ForwardParams params{};
  params.q = make_tile_map(problem.q, 2, s.d_qk, s.q_len, s.batch * s.heads_q, variant.tile_q);
  params.k = make_tile_map(problem.k, 2, s.d_qk, s.kv_len, s.batch * s.heads_kv, variant.tile_kv);
  params.v = make_tile_map(problem.v, 2, s.d_v, s.kv_len, s.batch * s.heads_kv, variant.tile_kv);
  params.o = make_tile_map(problem.o, 2, s.d_v, s.q_len, s.batch * s.heads_q, variant.tile_q);
  params.l = problem.l;
  params.q_len = static_cast<int>(s.q_len), params.kv_len = static_cast<int>(s.kv_len);
  params.heads_kv = static_cast<int>(s.heads_kv);
  params.group = make_divisor(s.heads_q / s.heads_kv);
  params.causal = problem.mask == Mask::causal;
  params.scale_log2 = problem.scale * 1.4426950408889634f;
  LaunchShape shape;
  shape.grid = dim3(static_cast<unsigned>(ceil_div(s.q_len, variant.tile_q)), static_cast<unsigned>(s.heads_q),
                    static_cast<unsigned>(s.batch));
  shape.threads = static_cast<unsigned>(variant.warps * 32);
  shape.dynamic_smem_bytes = case_study::smem_bytes(variant.head_dim, variant.tile_q, variant.tile_kv);
  return {make_launch("forward", instance.function, shape, params)};
}

}  // namespace

Family case_study_family() {
  return {"case_study", variants, unsupported, [](const Variant&, const Problem&) { return std::size_t{0}; },
          prepare_case_study};
}

}  // namespace tilescope::kernels
