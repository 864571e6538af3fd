// Descriptors list exactly the built variants.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "kernel_api.h"
#include "predict/point/point.h"

namespace tilescope::kernels {
namespace {

// Kernel, formats of Q, K, V and O, head_dim, tile_q, tile_kv, warps, stages (0: the island's own).
using Key = std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

// The dtype's name in descriptors, scales included.
std::string name_of(Dtype dtype) {
  return to_string(dtype) + (scale_group(dtype) > 0 ? fmt::format(":g{}:b2", scale_group(dtype)) : "");
}

std::string format_names(const Variant& v) {
  const std::string k = name_of(v.dtype_k());
  return fmt::format("{} {} {} {}", name_of(v.dtype_q()), k, v_in_k(v) ? k : name_of(v.dtype_v()), name_of(v.dtype));
}

std::string format_names(const FormatChoice& choice) {
  std::array<std::string, 4> names;
  const std::array<std::string, 4> arrays{"q", "k", "v", "o"};
  for (const auto& [key, dtype] : choice)
    for (std::size_t i = 0; i < arrays.size(); ++i)
      if (key.empty() || key == arrays[i] || (key == "kv" && (i == 1 || i == 2))) names[i] = to_string(dtype);
  return fmt::format("{} {} {} {}", names[0], names[1], names[2], names[3]);
}

}  // namespace

TEST_CASE("every built variant stands in its kernel.yaml, and every variant there is built") {
  std::set<Key> built, described;
  for (const Variant& v : built_variants())
    built.insert({v.kernel, format_names(v), v.head_dim, v.tile_q, v.tile_kv, v.warps, v.stages});
  for (const std::string& name : built_kernels()) {
    const Plan plan = load_plan_for_kernel(name, TILESCOPE_SOURCE_DIR);
    for (const KernelVariant& v : plan.kernel.variants)
      for (const FormatChoice& formats : v.formats.empty() ? plan.kernel.formats : v.formats)
        described.insert({name, format_names(formats), v.head_dim, v.tile_q, v.tile_kv, v.warps, v.stages});
  }
  for (const Key& key : built)
    CHECK_MESSAGE(described.contains(key), std::get<0>(key), " ", std::get<1>(key), " d", std::get<2>(key), " ",
                  std::get<3>(key), "x", std::get<4>(key), " is built but not described");
  for (const Key& key : described)
    CHECK_MESSAGE(built.contains(key), std::get<0>(key), " ", std::get<1>(key), " d", std::get<2>(key), " ",
                  std::get<3>(key), "x", std::get<4>(key), " is described but not built");
}

}  // namespace tilescope::kernels
