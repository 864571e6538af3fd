// Tests dominates() exhaustively: for all tiles of the dominated nest, the other nest has tiles with no more traffic
// and no larger footprint.
#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include "derive/random/random_nests.h"
#include "derive/symbolic/counted.h"
#include "derive/test_models.h"

namespace tilescope::dominance_test {
namespace {

struct Candidate {
  AxisLoops loops;
  NestCost cost;
  Schedule schedule;
  Counted counted;
};

// Tiles with which every loop has two trips or more: a loop with one trip is equivalent to no loop. Empty if the sizes
// do not allow this.
std::optional<std::vector<std::int64_t>> tiles_of(RandomPoints& random, const Candidate& nest,
                                                  const Workload& workload) {
  std::vector<std::int64_t> tiles(nest.schedule.parameters.size());
  std::vector<std::int64_t> room;
  for (const Axis& axis : nest.schedule.diagram.axes) room.push_back(axis.chunks_of ? 0 : axis.size_in(workload));
  for (const AxisLoop& loop : nest.loops) {
    const int parameter =
        nest.schedule.find_parameter(nest.schedule.diagram.axes[index(loop.axis)].name + (loop.parts ? "_part" : ""));
    if (parameter < 0) continue;
    std::int64_t& size = room[index(loop.axis)];
    if (size < 2) return std::nullopt;
    tiles[static_cast<std::size_t>(parameter)] = size = random.between(1, size - 1);
  }
  return tiles;
}

// The tiles of `from` for a nest `to` with the same loops and perhaps more. The tile of an additional loop is its whole
// axis or part.
std::vector<std::int64_t> same_tiles(const Candidate& to, const Candidate& from, const Diagram& diagram,
                                     const Workload& workload, std::span<const std::int64_t> tiles) {
  std::vector<std::int64_t> out;
  for (const Parameter& parameter : to.schedule.parameters) {
    const int known = from.schedule.find_parameter(parameter.name);
    const int part = from.schedule.find_parameter(parameter.name + "_part");
    const int given = known >= 0 ? known : part;
    out.push_back(given >= 0 ? tiles[static_cast<std::size_t>(given)]
                             : diagram.axes[index(*diagram.find_axis(parameter.name))].size_in(workload));
  }
  return out;
}

}  // namespace

TEST_CASE(
    "a dominated nest is never better: with its tiles the other nest has no more traffic and no larger footprint") {
  MESSAGE("seed " << test_seed());
  RandomPoints random(test_seed());
  int pairs = 0, points = 0;
  for (const std::string& name : shipped_names(models() + "/diagrams")) {
    Primitives primitives = primitives_of_diagram(find_diagram(name, models()));
    const Fusions fusions = enumerate_fusions(primitives, {.most = 2000});
    CAPTURE(name);
    for (int round = 0; round < 20; ++round) {
      const FusedKernel& kernel = fusions.kernels[static_cast<std::size_t>(
          random.between(0, static_cast<std::int64_t>(fusions.kernels.size()) - 1))];
      const KernelRules rules(primitives, kernel);
      std::vector<Candidate> all;
      for (int i = 0; i < 16; ++i)
        if (auto loops = random_nest(random, rules)) {
          Schedule schedule = kernel_schedule(primitives, kernel, *loops);
          Counted counted(schedule, false);
          all.push_back({*loops, rules.cost(*loops), std::move(schedule), std::move(counted)});
        }
      for (std::size_t a = 0; a < all.size(); ++a)
        for (std::size_t b = 0; b < all.size(); ++b) {
          if (all[a].loops == all[b].loops || !dominates(all[a].cost, all[b].cost)) continue;
          ++pairs;
          const std::string better = to_text(primitives.diagram, all[a].loops),
                            worse = to_text(primitives.diagram, all[b].loops);
          CAPTURE(better);
          CAPTURE(worse);
          for (int i = 0; i < 10; ++i) {
            const Workload workload = random.workload(40);
            random.sizes(all[b].schedule.diagram, 30);
            for (std::size_t n = 0; n < primitives.diagram.axes.size(); ++n)
              all[a].schedule.diagram.axes[n].length = primitives.diagram.axes[n].length =
                  all[b].schedule.diagram.axes[n].length;
            const auto tiles = tiles_of(random, all[b], workload);
            if (!tiles) continue;
            ++points;
            const std::vector<std::int64_t> own = same_tiles(all[a], all[b], primitives.diagram, workload, *tiles);
            const std::vector<std::int64_t> fast = all[a].counted.at(all[a].schedule, workload, {}, own),
                                            slow = all[b].counted.at(all[b].schedule, workload, {}, *tiles);
            const std::string shown = fmt::format("{}", fmt::join(*tiles, " "));
            CAPTURE(shown);
            CHECK(all[a].counted.traffic(fast, 0) <= all[b].counted.traffic(slow, 0));
            CHECK(all[a].counted.footprint(fast, 0) <= all[b].counted.footprint(slow, 0));
          }
        }
    }
  }
  MESSAGE(points << " points of " << pairs << " pairs");
  CHECK(pairs > 300);
}

}  // namespace tilescope::dominance_test
