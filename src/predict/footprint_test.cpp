// The model's shared-memory footprint against what the bundled kernels ask for.
#include <doctest/doctest.h>

#include "predict/prediction.h"

namespace tilescope {

TEST_CASE("the footprint derived for every built variant is the shared memory that its kernel asks for") {
  const HardwareProfile hardware = find_profile("h200_sxm", std::string(TILESCOPE_SOURCE_DIR) + "/hardware");
  int checked = 0;
  for (const char* kernel : {"fused_mma", "reference"}) {
    const Plan plan = load_plan_for_kernel(kernel, TILESCOPE_SOURCE_DIR);
    for (const KernelVariant& variant : plan.kernel.variants) {
      Point point = default_point(plan);
      point.workload = {1, 1, 1, 4096, 4096, variant.head_dim, variant.head_dim};
      point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter("q"))] = variant.tile_q;
      point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter("kv"))] = variant.tile_kv;
      point.warps = variant.warps;
      CAPTURE(kernel);
      CAPTURE(variant.head_dim);
      CAPTURE(variant.tile_q);
      CAPTURE(variant.tile_kv);
      Prediction prediction;
      predict(plan, hardware, point, prediction);
      std::int64_t largest = 0;
      for (const FootprintRow& row : prediction.footprint)
        if (row.level == Boundary::smem) largest = std::max(largest, row.bytes);
      CHECK(largest == variant.smem_bytes);
      CHECK(prediction.feasible);
      ++checked;
    }
  }
  CHECK(checked >= 12);
}

}  // namespace tilescope
