
#include "base/error.h"
#include "common/family.h"
#include "common/instances.h"
#include "common/launch.h"
#include "flash1/forward.h"

namespace tilescope::kernels {

const std::vector<flash1::Instance>& flash1::instances() {
  static const std::vector<Instance> all = joined<Instance>({fp16, bf16});
  return all;
}

namespace {

using flash1::ForwardParams;
using flash1::Instance;
using flash1::instances;

std::vector<Variant> variants() { return variants_of(instances()); }

std::string unsupported(const Variant& variant, const Shape& shape, Mask) {
  return head_dim_problem(flash1_family(), variant, shape);
}

std::int64_t rows_of(const Shape& s) { return s.batch * s.heads_q * s.q_len; }

// The statistics m and then l of every row, fp32. The schedule returns them instead of L, with L = (m + log2 l) ln 2.
std::size_t statistics_bytes(const Variant&, const Problem& problem) {
  return static_cast<std::size_t>(round_up(rows_of(problem.shape), 64)) * 2 * sizeof(float);
}

std::vector<Launch> prepare_flash1(const Variant& variant, const Problem& problem) {
  if (std::string reason = pointer_problem(problem, 16, Needs::workspace); !reason.empty())
    throw InputError(Diagnostic{"", 0, 0, "flash1", reason});
  const Instance& instance = instance_of(instances(), variant);
  const Shape& s = problem.shape;
  ForwardParams params{};
  params.q = problem.q, params.k = problem.k, params.v = problem.v, params.o = problem.o;
  params.m = static_cast<float*>(problem.workspace);
  params.l = params.m + round_up(rows_of(s), 64);
  params.q_len = static_cast<int>(s.q_len), params.kv_len = static_cast<int>(s.kv_len);
  params.heads_kv = static_cast<int>(s.heads_kv);
  params.group = make_divisor(s.heads_q / s.heads_kv);
  params.causal = problem.mask == Mask::causal;
  params.scale_log2 = problem.scale * 1.4426950408889634f;
  LaunchShape shape;
  shape.grid = dim3(static_cast<unsigned>(s.heads_q), static_cast<unsigned>(s.batch));
  shape.threads = static_cast<unsigned>(variant.warps * 32);
  shape.dynamic_smem_bytes = flash1::smem_bytes(variant.head_dim, variant.tile_q, variant.tile_kv);
  return {make_launch("forward", instance.function, shape, params)};
}

}  // namespace

Family flash1_family() {
  return {.name = "flash1",
          .variants = variants,
          .unsupported_reason = unsupported,
          .workspace_bytes = statistics_bytes,
          .prepare = prepare_flash1,
          .results = {.writes_l = false, .rounds_output_every_tile = true}};
}

}  // namespace tilescope::kernels
