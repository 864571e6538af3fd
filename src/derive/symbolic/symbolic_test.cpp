// Compares symbolic counts with a walk of the nest, tile by tile, on random ragged shapes.
#include "derive/symbolic/symbolic.h"

#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <optional>

#include "base/error.h"
#include "derive/random/random_points.h"
#include "derive/symbolic/counted.h"
#include "derive/test_models.h"

namespace tilescope::symbolic_test {
namespace {

// Compares every term of every island and the points of every operator. Returns how many it compared.
int compare(const Schedule& schedule, const Counted& counts, const Workload& workload, const Mask& mask,
            std::span<const std::int64_t> tiles) {
  const std::vector<std::int64_t> outputs = counts.at(schedule, workload, mask, tiles);
  int compared = 0;
  for (int i = 0; i < static_cast<int>(schedule.islands.size()); ++i) {
    const Island& island = schedule.islands[static_cast<std::size_t>(i)];
    CAPTURE(island.name);
    const Nest nest = bind_nest(schedule, island, workload, mask, tiles);
    const Walk slow = walk(schedule, island, nest);
    for (std::size_t a = 0; a < schedule.diagram.arrays.size(); ++a) {
      const auto id = static_cast<ArrayId>(static_cast<int>(a));
      if (!schedule.reads(island, id) && !schedule.writes(island, id)) continue;
      CAPTURE(schedule.diagram.arrays[a].name);
      for (const bool store : {false, true}) {
        CHECK(counts.moved(outputs, i, id, store) == walked(schedule, island, nest, slow, id, store));
        ++compared;
      }
    }
    for (std::size_t w = 0; w < counts.symbolic.work.size(); ++w) {
      const SymbolicWork& work = counts.symbolic.work[w];
      if (work.island != i) continue;
      CHECK(outputs[counts.symbolic.terms.size() + w] == walked_points(schedule, island, nest, slow, work.op));
      ++compared;
    }
  }
  return compared;
}

}  // namespace

TEST_CASE("symbolic counts equal the walk for every named schedule on every diagram it fits") {
  MESSAGE("seed " << test_seed());
  RandomPoints random(test_seed());
  int cases = 0, pairs = 0;
  for (const std::string& name : shipped_names(models() + "/schedules"))
    for (const std::string& diagram : shipped_names(models() + "/diagrams")) {
      std::optional<Schedule> schedule;
      try {
        schedule = find_schedule(name, models(), diagram);
      } catch (const InputError&) {
        continue;  // the diagram has other axes or operators
      }
      CAPTURE(name);
      CAPTURE(diagram);
      const Counted plain(*schedule, false), masked(*schedule, true);
      ++pairs;
      for (int i = 0; i < 80; ++i) {
        const Workload workload = random.workload();
        const Mask mask = random.mask(workload);
        random.sizes(schedule->diagram);
        const std::vector<std::int64_t> tiles = random.tiles(schedule->parameters.size());
        CAPTURE(i);
        CAPTURE(mask.text);
        CAPTURE(workload.heads_q);
        CAPTURE(workload.heads_kv);
        CAPTURE(workload.q_len);
        CAPTURE(workload.kv_len);
        CAPTURE(fmt::format("{}", fmt::join(tiles, " ")));
        compare(*schedule, mask.kind == MaskKind::none ? plain : masked, workload, mask, tiles);
        ++cases;
      }
    }
  MESSAGE(cases << " cases of " << pairs << " schedules on diagrams");
  CHECK(pairs >= 20);
}

}  // namespace tilescope::symbolic_test
