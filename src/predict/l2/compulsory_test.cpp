// Compulsory bytes under a mask: what results need of the inputs, and every value that a launch writes.
#include "predict/l2/compulsory.h"

#include <doctest/doctest.h>

#include <random>

#include "base/test_seed.h"
#include "predict/predict.h"

namespace tilescope::compulsory_test {

TEST_CASE("rows of dQ without a key are compulsory: every backward kernel writes their zeros") {
  const HardwareProfile h200 = find_profile("h200_sxm", std::string(TILESCOPE_SOURCE_DIR) + "/hardware");
  std::mt19937 random(test_seed());
  const auto between = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  for (const char* kernel : {"backward", "backward_split", "fa2_backward_d64", "pytorch_flash2_backward_d64"})
    for (int i = 0; i < 10; ++i) {
      const Plan plan = load_plan_for_kernel(kernel, TILESCOPE_SOURCE_DIR);
      Point point = default_point(plan);
      take_variant(point, plan.schedule, plan.kernel.variants.front());
      const std::int64_t heads = between(1, 8), q = between(1, 2048), kv = between(1, 2048), d = 64;
      point.workload = {1, heads, heads, q, kv, d, d};
      point.mask = *parse_mask("causal");
      point.l2 = L2Model::closed;
      INFO(kernel, " q_len ", q, " kv_len ", kv);
      const std::int64_t rows = std::min(q, kv);  // with a key; Q, O, dO and L of the others change nothing
      CHECK(predict(plan, h200, point).compulsory_bytes == 2 * heads * d * (3 * rows + q + 4 * kv) + 4 * heads * rows);
    }
}

}  // namespace tilescope::compulsory_test
