// What executing the ranked schedules costs, and a diagram whose softmax has two sets of keys.
#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>

#include "base/test_seed.h"
#include "base/text.h"
#include "derive/derivation.h"
#include "derive/test_models.h"

namespace tilescope {
namespace {

// Processor seconds.
double seconds_of(const DeriveRequest& request) {
  const std::clock_t start = std::clock();
  derive(request, models());
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

}  // namespace

TEST_CASE("executing what is ranked costs less than a fifth of a derivation") {
  double all = 0, checks = 0;
  const std::vector<std::string> names = shipped_names(models() + "/diagrams");
  for (std::size_t i = 0; i < names.size(); i += 3) {  // of all together the share is no other: docs/speed.md
    const std::string& name = names[i];
    if (name == "attention_sink_window") continue;  // takes seconds, of which the check is 2 %
    DeriveRequest request{.diagram = find_diagram(name, models()), .workload = {1, 1, 1, 8192, 8192, 128, 128}};
    const double with = seconds_of(request);
    request.run_programs = false;
    const double check = with - seconds_of(request);
    MESSAGE(name << ": " << with << " s, of which the check " << 100 * check / with << " %");
    all += with, checks += check;
  }
  MESSAGE("all: " << all << " s, of which the check " << 100 * checks / all << " %");
  if (times_are_judged) CHECK(checks < 0.2 * all);
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
  if (times_are_judged) CHECK(seconds < 4);  // 0.4 s where nothing else runs
  CHECK(join(derivation.errors, "; ") == "");
  REQUIRE(!derivation.ranked.empty());
  const RankedFusion& best = derivation.ranked.front();
  REQUIRE(best.kernels.size() == 1);
  const AxisId keys = *derivation.primitives.diagram.find_axis("x");
  CHECK(std::any_of(best.kernels.front().loops.begin(), best.kernels.front().loops.end(),
                    [&](const AxisLoop& loop) { return loop.axis == keys && loop.partition == Partition::stream; }));
}

}  // namespace tilescope
