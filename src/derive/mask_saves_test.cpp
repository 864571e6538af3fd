// A mask leaves work out, so with it no schedule moves more than without.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "derive/derivation.h"
#include "derive/random/random_points.h"
#include "derive/test_models.h"

namespace tilescope::mask_saves_test {

TEST_CASE("with a mask neither the best schedule nor a named one moves more than without") {
  RandomPoints points(test_seed());
  int named = 0;
  for (int round = 0; round < 8; ++round) {
    const std::int64_t queries = points.between(1, 40), keys = round % 2 ? queries : points.between(1, 40);
    const Workload workload{1, 1, 1, queries, keys, points.between(1, 8), points.between(1, 8)};
    DeriveRequest request{.diagram = find_diagram("attention", models()),
                          .workload = workload,
                          .memory = static_cast<double>(points.between(8, 300)),
                          .ranked = 1,
                          .run_programs = false};
    const Derivation whole = derive(request, models());
    request.mask = points.mask(workload);
    const Derivation masked = derive(request, models());
    CAPTURE(fmt::format("{} x {}, mask {}, memory {}", queries, keys, request.mask.text, request.memory));
    REQUIRE(whole.ranked.empty() == masked.ranked.empty());
    if (whole.ranked.empty()) continue;
    constexpr double rounding = 1 + 1e-5;  // of the search for tiles
    CHECK(masked.ranked.front().traffic <= whole.ranked.front().traffic * rounding);
    REQUIRE(masked.named.size() == whole.named.size());
    for (std::size_t i = 0; i < whole.named.size(); ++i) {
      if (!whole.named[i].feasible) continue;
      CAPTURE(whole.named[i].name);
      CHECK(masked.named[i].feasible);
      CHECK(masked.named[i].traffic <= whole.named[i].traffic * rounding);
      ++named;
    }
  }
  CHECK(named > 0);
}

}  // namespace tilescope::mask_saves_test
