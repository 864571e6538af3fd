// Descriptors name exactly what was built.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "kernel_api.h"
#include "predict/point.h"

namespace tilescope::kernels {
namespace {

using Key = std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

std::string name_of(Dtype dtype) { return dtype == Dtype::fp32 ? "fp32" : dtype == Dtype::fp16 ? "fp16" : "bf16"; }

}  // namespace

TEST_CASE("every built variant stands in its kernel.yaml, and every variant there is built") {
  std::set<Key> built, described;
  std::set<std::string> names;
  for (const Variant& v : built_variants()) {
    built.insert({v.kernel, name_of(v.dtype), v.head_dim, v.tile_q, v.tile_kv, v.warps});
    names.insert(v.kernel);
  }
  for (const std::string& name : names) {
    const Plan plan = load_plan_for_kernel(name, TILESCOPE_SOURCE_DIR);
    for (const KernelVariant& v : plan.kernel.variants)
      for (const tilescope::Dtype& dtype : plan.kernel.dtypes)
        described.insert({name, to_string(dtype), v.head_dim, v.tile_q, v.tile_kv, v.warps});
  }
  CHECK(names.size() == built_kernels().size());
  CHECK(built == described);
}

}  // namespace tilescope::kernels
