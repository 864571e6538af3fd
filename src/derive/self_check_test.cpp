// What executing the ranked schedules costs, and a diagram whose softmax has two sets of keys.
#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>

#include "base/text.h"
#include "derive/derivation.h"
#include "derive/test_models.h"

namespace tilescope {
namespace {

// Processor seconds of the faster of two derivations.
double seconds_of(const DeriveRequest& request) {
  double least = 1e9;
  for (int i = 0; i < 2; ++i) {
    const std::clock_t start = std::clock();
    derive(request, models());
    least = std::min(least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return least;
}

}  // namespace

TEST_CASE("executing what is ranked costs less than a fifth of a derivation") {
  DeriveRequest request{.diagram = find_diagram("attention", models()), .workload = {1, 1, 1, 8192, 8192, 128, 128}};
  const double with = seconds_of(request);
  request.run_programs = false;
  const double without = seconds_of(request);
  MESSAGE(with << " s, without " << without << " s");
  CHECK(with - without < 0.2 * without);
}

TEST_CASE("sinks and a window under one softmax are one kernel that streams the keys") {
  const std::clock_t start = std::clock();
  const Derivation derivation = derive({.diagram = find_diagram("attention_sink_window", models()),
                                        .workload = {1, 1, 1, 1024, 1024, 64, 64},
                                        .mask = *parse_mask("window:64"),
                                        .ranked = 3},
                                       models() + "/none");
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  MESSAGE(seconds << " s");
  CHECK(seconds < 4);  // 1.3 s where nothing else runs
  CHECK(join(derivation.errors, "; ") == "");
  REQUIRE(!derivation.ranked.empty());
  const RankedFusion& best = derivation.ranked.front();
  REQUIRE(best.kernels.size() == 1);
  const AxisId keys = *derivation.primitives.diagram.find_axis("x");
  CHECK(std::any_of(best.kernels.front().loops.begin(), best.kernels.front().loops.end(),
                    [&](const AxisLoop& loop) { return loop.axis == keys && loop.partition == Partition::stream; }));
}

}  // namespace tilescope
