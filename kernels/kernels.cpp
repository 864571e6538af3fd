// The registry: finds the folder a variant belongs to and hands the question on.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "common/family.h"
#include "kernel_api.h"

namespace tilescope::kernels {
namespace {

const std::array<Family, 3>& families() {
  static const std::array<Family, 3> all = {reference_family(), reference_fp32_family(), fused_mma_family()};
  return all;
}

bool same(const Variant& a, const Variant& b) {
  return a.kernel == b.kernel && a.dtype == b.dtype && a.head_dim == b.head_dim && a.tile_q == b.tile_q &&
         a.tile_kv == b.tile_kv && a.warps == b.warps;
}

const Family* family_of(const Variant& variant) {
  for (const Family& family : families())
    if (variant.kernel == family.name) return &family;
  return nullptr;
}

std::string variant_problem(const Variant& v) {
  const Family* family = family_of(v);
  if (family == nullptr)
    return fmt::format("kernel {} is not built; built: reference, reference_fp32, fused_mma", v.kernel);
  const std::vector<Variant> built = family->variants();
  if (std::any_of(built.begin(), built.end(), [&](const Variant& other) { return same(other, v); })) return {};
  return fmt::format(
      "{} has no variant with head_dim {}, tile_q {}, tile_kv {}, {} warps for this dtype; its kernel.yaml lists the "
      "built ones",
      v.kernel, v.head_dim, v.tile_q, v.tile_kv, v.warps);
}

}  // namespace

std::vector<Variant> built_variants() {
  std::vector<Variant> all;
  for (const Family& family : families()) {
    const std::vector<Variant> some = family.variants();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::string unsupported_reason(const Variant& variant, const Shape& shape, Mask mask) {
  if (std::string problem = variant_problem(variant); !problem.empty()) return problem;
  if (std::string problem = shape_problem(shape); !problem.empty()) return problem;
  return family_of(variant)->unsupported_reason(variant, shape, mask);
}

std::size_t workspace_bytes(const Variant& variant, const Shape& shape) {
  if (std::string problem = unsupported_reason(variant, shape, Mask::none); !problem.empty())
    throw InputError(Diagnostic{"", 0, 0, variant.kernel, problem});
  return family_of(variant)->workspace_bytes(variant, shape);
}

std::vector<Launch> prepare(const Variant& variant, const Problem& problem) {
  if (std::string reason = unsupported_reason(variant, problem.shape, problem.mask); !reason.empty())
    throw InputError(Diagnostic{"", 0, 0, variant.kernel, reason});
  return family_of(variant)->prepare(variant, problem);
}

}  // namespace tilescope::kernels
