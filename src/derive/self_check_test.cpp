// What executing the ranked schedules costs, and a diagram whose softmax has two sets of keys.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "base/test_seed.h"
#include "base/text.h"
#include "derive/derivation.h"
#include "derive/test_models.h"

namespace tilescope::self_check_test {
namespace {

// Processor seconds of a derivation with the check and without it: each the least of three runs, taken in turns, since
// whatever else the machine does only adds to them.
struct Seconds {
  double with = INFINITY, without = INFINITY;
};
Seconds seconds_of(DeriveRequest request) {
  Seconds least;
  for (int run = 0; run < 3; ++run) {
    for (const bool check : {true, false}) {
      request.run_programs = check;
      const std::clock_t start = std::clock();
      derive(request, models());
      double& seconds = check ? least.with : least.without;
      seconds = std::min(seconds, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
  }
  return least;
}

}  // namespace

TEST_CASE("executing what is ranked costs less than a quarter of a derivation") {
  double all = 0, checks = 0;
  const std::vector<std::string> names = shipped_names(models() + "/diagrams");
  for (std::size_t i = 0; i < names.size(); i += 3) {  // of all together the share is no other: docs/speed.md
    const std::string& name = names[i];
    if (name == "attention_sink_window") continue;  // takes seconds, of which the check is 2 %
    const auto [with, without] =
        seconds_of({.diagram = find_diagram(name, models()), .workload = {1, 1, 1, 8192, 8192, 128, 128}});
    const double check = with - without;
    MESSAGE(name << ": " << with << " s, of which the check " << 100 * check / with << " %");
    all += with, checks += check;
  }
  MESSAGE("all: " << all << " s, of which the check " << 100 * checks / all << " %");
  // 10 to 16 % where little else runs; up to 20 beside three busy programs.
  if (times_are_judged) CHECK(checks < 0.25 * all);
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
  if (times_are_judged) CHECK(seconds < 10);  // 2 s where nothing else runs
  CHECK(join(derivation.errors, "; ") == "");
  REQUIRE(!derivation.ranked.empty());
  const RankedFusion& best = derivation.ranked.front();
  REQUIRE(best.kernels.size() == 1);
  const AxisId keys = *derivation.primitives.diagram.find_axis("x");
  CHECK(std::any_of(best.kernels.front().loops.begin(), best.kernels.front().loops.end(),
                    [&](const AxisLoop& loop) { return loop.axis == keys && loop.partition == Partition::stream; }));
}

}  // namespace tilescope::self_check_test
