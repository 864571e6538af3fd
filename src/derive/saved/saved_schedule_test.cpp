// Saved schedules, read back, move what the ranked ones do: of every shipped diagram and of random ones.
#include "derive/saved/saved_schedule.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "base/text.h"
#include "derive/nests/why_not.h"
#include "derive/random/random_diagrams.h"
#include "derive/symbolic/counted.h"
#include "derive/test_models.h"
#include "schedule/schedule_text.h"

namespace tilescope::saved_saved_schedule_test {
namespace {

struct SavedTally {
  int schedules = 0, own = 0, counts = 0;
};

// Values by array, loaded and stored, of one island.
using Values = std::map<std::pair<std::string, bool>, std::int64_t>;
Values values_of(const Schedule& schedule, std::size_t island, const Workload& workload,
                 const std::vector<std::int64_t>& tiles) {
  const Counted counted(schedule, false);
  const std::vector<std::int64_t> outputs = counted.at(schedule, workload, {}, tiles);
  Values values;
  for (std::size_t a = 0; a < schedule.diagram.arrays.size(); ++a)
    for (const bool store : {false, true})
      if (const std::int64_t moved =
              counted.moved(outputs, static_cast<int>(island), static_cast<ArrayId>(static_cast<int>(a)), store))
        values[{schedule.diagram.arrays[a].name, store}] = moved;
  return values;
}

// Both kernels with the same tile in each loop.
void compare(Schedule saved, std::size_t island, Schedule ranked, RandomPoints& random, SavedTally& tally) {
  std::vector<std::int64_t> tiles = random.tiles(saved.parameters.size(), 7), same(ranked.parameters.size(), 1);
  const Workload workload = random.workload(12);
  std::map<std::string, std::int64_t> sizes;
  for (Schedule* schedule : {&saved, &ranked})
    for (Axis& axis : schedule->diagram.axes)
      if (!axis.extent && !axis.chunks_of)
        axis.length = sizes.try_emplace(axis.size, random.between(1, 9)).first->second;
  const std::vector<Loop>&read = saved.islands[island].loops, &own = ranked.islands.front().loops;
  REQUIRE(read.size() == own.size());
  for (std::size_t l = 0; l < own.size(); ++l) {
    CHECK((read[l].tile.parameter < 0) == (own[l].tile.parameter < 0));
    if (own[l].tile.parameter >= 0 && read[l].tile.parameter >= 0)
      same[static_cast<std::size_t>(own[l].tile.parameter)] = tiles[static_cast<std::size_t>(read[l].tile.parameter)];
  }
  for (Loop& loop : saved.islands[island].loops)  // tiles of a thousand elements of what every array has move the same
    if (loop.tile.parameter < 0) loop.tile.literal = 1;
  CHECK(saved.islands[island].skips_masked_tiles == ranked.islands.front().skips_masked_tiles);
  CHECK(values_of(saved, island, workload, tiles) == values_of(ranked, 0, workload, same));
  ++tally.counts;
}

bool reads_all(const Diagram& diagram) {
  for (std::size_t a = 0; a < diagram.arrays.size(); ++a) {
    const auto id = static_cast<ArrayId>(static_cast<int>(a));
    const auto reads = [&](const Operator& op) { return contains(op.inputs, id); };
    if (diagram.arrays[a].role != ArrayRole::output &&
        std::none_of(diagram.operators.begin(), diagram.operators.end(), reads))
      return false;
  }
  return true;
}

void check_all(const Diagram& diagram, RandomPoints& random, SavedTally& tally) {
  const Derivation derivation = derive({.diagram = diagram,
                                        .workload = {2, 4, 2, 512, 512, 64, 64},
                                        .most_nests = 3000,
                                        .ranked = 8,
                                        .run_programs = false},
                                       models() + "/none");
  for (std::size_t rank = 0; rank < derivation.ranked.size(); ++rank) {
    CAPTURE(rank);
    const SavedSchedule saved = saved_schedule(derivation, rank, "saved", models());
    CAPTURE(saved.yaml);
    const Schedule schedule = parse_schedule(saved.yaml, models());
    const RankedFusion& ranked = derivation.ranked[rank];
    REQUIRE(schedule.islands.size() == ranked.kernels.size());
    CHECK(saved.kernels.size() == ranked.kernels.size());
    ++tally.schedules, tally.own += saved.own_operators ? 1 : 0;
    for (std::size_t k = 0; k < ranked.kernels.size(); ++k)
      for (int i = 0; i < 3; ++i) compare(schedule, k, ranked.kernels[k].schedule, random, tally);
  }
}

}  // namespace

TEST_CASE("every ranked schedule of every shipped diagram is saved and read back with the same counts") {
  MESSAGE("seed " << test_seed());
  RandomPoints random(test_seed());
  SavedTally tally;
  for (const std::string& name : shipped_names(models() + "/diagrams")) {
    if (name == "attention_sink_window") continue;  // takes seconds; saved at the command line
    CAPTURE(name);
    check_all(find_diagram(name, models()), random, tally);
  }
  MESSAGE(tally.schedules << " schedules, " << tally.own << " with the diagram's own operators, " << tally.counts
                          << " kernels compared");
  CHECK(tally.schedules > 60);
  CHECK(tally.own > 20);
  CHECK(tally.own < tally.schedules);
}

TEST_CASE("schedules of random diagrams are saved and read back with the same counts") {
  MESSAGE("seed " << test_seed());
  RandomPoints random(test_seed());
  SavedTally tally;
  for (int i = 0; i < 150; ++i) {
    CAPTURE(i);
    const Diagram diagram = RandomDiagram(random).run();
    if (!reads_all(diagram)) continue;  // a file with such a diagram is refused
    check_all(diagram, random, tally);
  }
  MESSAGE(tally.schedules << " schedules, " << tally.counts << " kernels compared");
  CHECK(tally.schedules > 60);
}

TEST_CASE("an array that does not cancel out is no unread array") {
  const std::string text = R"(schema: tilescope/schedule/1
schedule: t
diagram: attention
summary: t
parameters: {q: 16, x: 16}
islands:
  - name: all
    operators: [all]
    unread: [K]
    skips_masked_tiles: true
    loops: [{axis: q, partition: group, tile: q}, {axis: x, partition: stream, tile: x}]
)";
  CHECK(illegal(parse_schedule(text, models())) == "all: K does not cancel out of its results, so it is not 'unread'");
}

}  // namespace tilescope::saved_saved_schedule_test
