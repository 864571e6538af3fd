// The quick bound of a nest against its tile problem.
#include "derive/least_traffic.h"

#include <doctest/doctest.h>

#include "base/text.h"
#include "derive/kernel_problem.h"
#include "derive/random/random_nests.h"
#include "derive/random/random_points.h"
#include "derive/test_models.h"

namespace tilescope::least_traffic_test {
namespace {

struct Judged {
  int nests = 0, tight = 0;  // with a solution; with a bound of more than half of what they move
};

void judge_nests(RandomPoints& random, const DeriveRequest& request, Judged& judged) {
  const Primitives primitives = primitives_of_diagram(request.diagram);
  const std::vector<FusedKernel> all = enumerate_fusions(primitives, {.most = 300}).kernels;
  for (int k = 0; k < 3 && !all.empty(); ++k) {
    const FusedKernel& kernel =
        all[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(all.size()) - 1))];
    const LeastTraffic bound(primitives, kernel, request);
    const Nests nests = enumerate_nests(primitives, kernel, 300);
    for (std::size_t n = 0; n < nests.survivors.size(); n += 1 + nests.survivors.size() / 12) {
      const LegalNest& nest = nests.survivors[n];
      if (nest.cost.parts != 0) continue;
      const Schedule schedule = kernel_schedule(primitives, kernel, nest.loops, nest.unread);
      ScheduleProblem problem =
          problem_of(schedule, symbolic_options(request.diagram, request.workload, request.mask), -1, request.widths);
      leave_out_ones(problem, schedule, request.workload);
      const BestTiles best = best_tiles(problem, schedule, request.workload, request.mask, request.memory).tiles;
      if (!best.found) continue;
      CAPTURE(request.diagram.name);
      CAPTURE(schedule.name);
      CAPTURE(request.mask.text);
      CAPTURE(request.memory);
      CHECK(bound.of(nest) <= best.traffic * (1 + 2e-6));
      ++judged.nests, judged.tight += bound.of(nest) > best.traffic / 2;
    }
  }
}

}  // namespace

TEST_CASE("no tiles of a nest move less than its quick bound, which is within a factor of 2 for most nests") {
  RandomPoints random(test_seed());
  const double memories[] = {64, 1000, 30000, 1e6};
  const std::map<std::string, Rational> formats[] = {
      {}, {{"q", 2}, {"k", 1}, {"v", Rational(17, 32)}, {"o", 4}, {"l", 4}, {"acc", 4}}};
  Judged judged;
  int turn = 0;
  for (const std::string& name : shipped_names(models() + "/diagrams"))
    for (const char* mask : {"none", "causal", "window:300", "prefix:40"}) {
      DeriveRequest request{.diagram = find_diagram(name, models())};
      if (!request.diagram.guard && std::string(mask) != "none") continue;
      const std::int64_t q = random.between(0, 2) == 0 ? 1 : random.between(1, 2000), kv = random.between(1, 4000);
      const std::int64_t heads = random.between(1, 3);
      request.workload = {random.between(1, 2), heads * random.between(1, 2), heads, q, kv, 64, 64};
      request.mask = *parse_mask(mask), request.memory = memories[turn++ % 4], request.widths = formats[turn % 2];
      judge_nests(random, request, judged);
    }
  MESSAGE(judged.nests << " nests, " << judged.tight << " of them within a factor of 2");
  CHECK(judged.nests > 200);
  CHECK(judged.tight * 2 > judged.nests);
}

}  // namespace tilescope::least_traffic_test
