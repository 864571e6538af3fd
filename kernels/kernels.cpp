// The registry: finds the folder that implements a variant and forwards the call.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "kernel_api.h"
#include "kernels/common/family.h"

namespace tilescope::kernels {
namespace {

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> list = {
        reference_family(),      reference_fp32_family(),     fused_mma_family(),  flash1_family(),
        block_sparse_family(),   reference_backward_family(), case_study_family(), backward_family(),
        backward_split_family(), fused_wgmma_family(),        fused_fp8_family(),  fused_fp8_qk_family(),
        fused_fp8_vt_family(),
    };
    for (const auto& some : {split_kv_families(), mla_decode_families()})
      list.insert(list.end(), some.begin(), some.end());
    return list;
  }();
  return all;
}

const Family* family_of(const Variant& variant) {
  for (const Family& family : families())
    if (variant.kernel == family.name) return &family;
  return nullptr;
}

std::string variant_problem(const Variant& v) {
  const Family* family = family_of(v);
  if (family == nullptr)
    return fmt::format("kernel {} is not built; built: {}", v.kernel, fmt::join(built_kernels(), ", "));
  const std::vector<Variant> built = family->variants();
  if (std::find(built.begin(), built.end(), v) != built.end()) return {};
  return fmt::format(
      "{} has no variant with head_dim {}, tile_q {}, tile_kv {}, {} warps for these formats; its kernel.yaml lists "
      "the built ones",
      v.kernel, v.head_dim, v.tile_q, v.tile_kv, v.warps);
}

void require_supported(const Variant& variant, const Problem& problem) {
  if (std::string reason = unsupported_reason(variant, problem.shape, problem.mask); !reason.empty())
    throw InputError(Diagnostic{"", 0, 0, variant.kernel, reason});
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

std::vector<std::string> built_kernels() {
  std::vector<std::string> names;
  for (const Family& family : families()) names.emplace_back(family.name);
  return names;
}

Pass pass_of(const Variant& variant) {
  const Family* family = family_of(variant);
  return family == nullptr ? Pass::forward : family->pass;
}

Results results_of(const Variant& variant) {
  const Family* family = family_of(variant);
  return family == nullptr ? Results{} : family->results;
}

bool v_in_k(const Variant& variant) {
  const Family* family = family_of(variant);
  return family != nullptr && family->v_in_k;
}

std::string unsupported_reason(const Variant& variant, const Shape& shape, Mask mask) {
  if (std::string problem = variant_problem(variant); !problem.empty()) return problem;
  if (std::string problem = shape_problem(shape); !problem.empty()) return problem;
  const Family& family = *family_of(variant);
  if (std::find(family.masks.begin(), family.masks.end(), mask) == family.masks.end())
    return fmt::format("{} does not take the mask {}; its kernel.yaml lists those it takes", variant.kernel,
                       to_string(mask));
  return family.unsupported_reason(variant, shape, mask);
}

std::size_t workspace_bytes(const Variant& variant, const Problem& problem) {
  require_supported(variant, problem);
  return family_of(variant)->workspace_bytes(variant, problem);
}

std::int64_t splits_of(const Variant& variant, const Problem& problem) {
  require_supported(variant, problem);
  const Family* family = family_of(variant);
  return family->splits == nullptr ? 1 : family->splits(variant, problem);
}

std::vector<Launch> prepare(const Variant& variant, const Problem& problem) {
  require_supported(variant, problem);
  return family_of(variant)->prepare(variant, problem);
}

}  // namespace tilescope::kernels
