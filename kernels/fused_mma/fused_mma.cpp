#include <fmt/format.h>

#include "base/error.h"
#include "common/family.h"
#include "common/instances.h"
#include "common/launch.h"
#include "fused_mma/forward.h"

namespace tilescope::kernels {

const std::vector<fused_mma::Instance>& fused_mma::instances() {
  static const std::vector<Instance> all =
      joined<Instance>({fp16_d64, fp16_d128, fp16_d256, bf16_d64, bf16_d128, bf16_d256});
  return all;
}

namespace {

using fused_mma::ForwardParams;
using fused_mma::Instance;
using fused_mma::instances;

std::vector<Variant> variants() { return variants_of(instances()); }

std::string unsupported(const Variant& variant, const Shape& shape, Mask) {
  return head_dim_problem(fused_mma_family(), variant, shape);
}

std::vector<Launch> prepare_fused(const Variant& variant, const Problem& problem) {
  if (std::string reason = pointer_problem(problem, 16, Needs::log_sum_exp); !reason.empty())
    throw InputError(Diagnostic{"", 0, 0, "fused_mma", reason});
  const Instance& instance = instance_of(instances(), variant);
  const Shape& s = problem.shape;
  ForwardParams params{};
  params.q = problem.q, params.k = problem.k, params.v = problem.v, params.o = problem.o, params.l = problem.l;
  params.q_len = static_cast<int>(s.q_len), params.kv_len = static_cast<int>(s.kv_len);
  params.heads_kv = static_cast<int>(s.heads_kv);
  params.group = make_divisor(s.heads_q / s.heads_kv);
  params.causal = problem.mask == Mask::causal;
  params.scale_log2 = problem.scale * 1.4426950408889634f;
  LaunchShape shape;
  shape.grid = dim3(static_cast<unsigned>(ceil_div(s.q_len, variant.tile_q)), static_cast<unsigned>(s.heads_q),
                    static_cast<unsigned>(s.batch));
  shape.threads = static_cast<unsigned>(variant.warps * 32);
  shape.dynamic_smem_bytes = fused_mma::smem_bytes(variant.head_dim, variant.tile_q, variant.tile_kv);
  return {make_launch("forward", instance.function, shape, params)};
}

}  // namespace

Family fused_mma_family() {
  return {"fused_mma", variants, unsupported, [](const Variant&, const Problem&) { return std::size_t{0}; },
          prepare_fused};
}

}  // namespace tilescope::kernels
