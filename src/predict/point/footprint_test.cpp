// Compares the model's shared-memory footprint with what shipped kernels request, and tests which of their tiles do not
// fit.
#include <doctest/doctest.h>

#include "predict/predict.h"

namespace tilescope {
namespace {

Point point_of(const Plan& plan, const KernelVariant& variant) {
  Point point = default_point(plan);
  const std::int64_t depth = variant.head_dim > 0 ? variant.head_dim : 64,
                     queries = plan.kernel.largest_q_len > 0 ? 1 : 4096;
  point.workload = {1, 1, 1, queries, 4096, depth, variant.v_head_dim > 0 ? variant.v_head_dim : depth};
  const auto& formats = variant.formats.empty() ? plan.kernel.formats : variant.formats;
  if (!formats.empty()) set_formats(point, plan.schedule.diagram, formats.front());
  take_variant(point, plan.schedule, variant);
  return point;
}

}  // namespace

TEST_CASE(
    "the derived footprint of every built variant is the shared memory that its kernel requests; tiles that "
    "spill run") {
  const std::filesystem::path root = TILESCOPE_SOURCE_DIR;
  const HardwareProfile hardware = find_profile("h200_sxm", root / "hardware");
  int checked = 0, spilling = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "kernels")) {
    if (!entry.path().filename().string().ends_with("kernel.yaml")) continue;
    const Plan plan = load_plan_for_kernel(entry.path().string(), root);
    for (const KernelVariant& variant : plan.kernel.variants) {
      CAPTURE(plan.kernel.name);
      CAPTURE(variant.head_dim);
      CAPTURE(variant.tile_q);
      CAPTURE(variant.tile_kv);
      CAPTURE(variant.warps);
      CAPTURE(variant.stages);
      const Point point = point_of(plan, variant);
      CHECK(selected_variant(plan, point) == &variant);
      Prediction prediction;
      predict(plan, hardware, point, prediction);
      std::int64_t largest = 0;
      for (const FootprintRow& row : prediction.footprint)
        if (row.level == Boundary::smem) largest = std::max(largest, row.bytes);
      if (variant.smem_bytes > 0) CHECK(largest == variant.smem_bytes);
      CHECK(prediction.feasible);  // a built kernel runs; registers that do not fit lie in memory
      for (const FootprintRow& row : prediction.footprint)
        if (!row.within()) {
          CHECK(variant.spills);
          CHECK(row.compiled == std::string("spills"));
          ++spilling;
        }
      checked += variant.smem_bytes > 0;
    }
  }
  CHECK(checked >= 24);
  MESSAGE("variants checked: " << checked << ", of which " << spilling << " spill");
  CHECK(spilling > 0);
}

}  // namespace tilescope
