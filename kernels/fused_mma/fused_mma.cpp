#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "common/family.h"
#include "common/launch.h"
#include "fused_mma/forward.h"

namespace tilescope::kernels {

const std::vector<fused_mma::Instance>& fused_mma::instances() {
  static const std::vector<Instance> all = [] {
    std::vector<Instance> list;
    for (auto* part : {fused_mma::fp16_d64, fused_mma::fp16_d128, fused_mma::fp16_d256, fused_mma::bf16_d64,
                       fused_mma::bf16_d128, fused_mma::bf16_d256}) {
      const std::vector<Instance> some = part();
      list.insert(list.end(), some.begin(), some.end());
    }
    return list;
  }();
  return all;
}

namespace {

using fused_mma::ForwardParams;
using fused_mma::Instance;
using fused_mma::instances;

const Instance& find(const Variant& v) {
  return *std::find_if(instances().begin(), instances().end(), [&](const Instance& i) {
    return i.variant.dtype == v.dtype && i.variant.head_dim == v.head_dim && i.variant.tile_q == v.tile_q &&
           i.variant.tile_kv == v.tile_kv && i.variant.warps == v.warps;
  });
}

std::vector<Variant> variants() {
  std::vector<Variant> list;
  for (const Instance& instance : instances()) list.push_back(instance.variant);
  return list;
}

std::string unsupported(const Variant& variant, const Shape& shape, Mask) {
  return head_dim_problem(fused_mma_family(), variant, shape);
}

std::vector<Launch> prepare_fused(const Variant& variant, const Problem& problem) {
  if (std::string reason = pointer_problem(problem, 16, Needs::log_sum_exp); !reason.empty())
    throw InputError(Diagnostic{"", 0, 0, "fused_mma", reason});
  const Instance& instance = find(variant);
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
