// The transfer rule against the brute-force walk on random ragged shapes.
#include "cost/walk.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "base/test_seed.h"
#include "cost/transfer.h"
#include "diagram/random_mask.h"

namespace tilescope::cost_walk_test {
namespace {

std::string models() { return std::string(TILESCOPE_SOURCE_DIR) + "/models"; }

class RandomShapes {
 public:
  explicit RandomShapes(unsigned value) : engine_(value) {}
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
  }

  Workload workload() {
    const std::int64_t heads_kv = between(1, 3);
    return {between(1, 2), heads_kv * between(1, 3), heads_kv, between(1, 24), between(1, 24), between(1, 4),
            between(1, 4)};
  }

  Mask mask(const Workload& workload) { return random_mask(engine_, workload); }

 private:
  std::mt19937 engine_;
};

void compare(const Schedule& schedule, const Island& island, const Nest& nest) {
  const Walk walked = walk(schedule, island, nest);
  const NestSums live = sums_of(nest, false), whole = sums_of(nest, true);
  for (std::size_t i = 0; i < schedule.diagram.arrays.size(); ++i) {
    const Array& array = schedule.diagram.arrays[i];
    const ArrayWalk& slow = walked.arrays[i];
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    const auto uses = [&](int number) {
      const Operator& op = schedule.diagram.operators[static_cast<std::size_t>(number)];
      return std::count(op.inputs.begin(), op.inputs.end(), id) + std::count(op.outputs.begin(), op.outputs.end(), id) >
             0;
    };
    if (!schedule.writes(island, id) && std::none_of(island.operators.begin(), island.operators.end(), uses)) continue;
    CAPTURE(array.name);
    CHECK(touched_values(nest, live, array.axes) == slow.loaded);
    CHECK(touched_values(nest, live, array.axes) == slow.stored);
    CHECK(touched_values(nest, live, array.axes) - distinct_values(nest, live, array.axes) == slow.loaded_back);
    CHECK(touched_values(nest, whole, array.axes, {.whole_tiles = true}) == slow.loaded_whole);
    CHECK(touched_values(nest, live, array.axes, {.resident = false}) == slow.loaded_each_step);
  }
  for (const int op : island.operators) {
    const Operator& candidate = schedule.diagram.operators[static_cast<std::size_t>(op)];
    const auto axes = schedule.diagram.axes_of(candidate);
    CHECK(visited_points(nest, live, axes, false) == walked.points[static_cast<std::size_t>(op)]);
    CHECK(visited_points(nest, whole, axes, true) == walked.points_whole[static_cast<std::size_t>(op)]);
  }
}

void compare_many(Schedule schedule, int cases) {
  RandomShapes random(test_seed());
  for (int i = 0; i < cases; ++i) {
    for (Axis& axis : schedule.diagram.axes)
      if (!axis.extent && !axis.chunks_of) axis.length = random.between(1, 12);
    const Workload workload = random.workload();
    const Mask mask = random.mask(workload);
    std::array<std::int64_t, 8> tiles{};
    for (std::size_t p = 0; p < schedule.parameters.size(); ++p) tiles[p] = random.between(1, 10);
    CAPTURE(i);
    CAPTURE(mask.text);
    CAPTURE(workload.heads_q);
    CAPTURE(workload.heads_kv);
    CAPTURE(workload.q_len);
    CAPTURE(workload.kv_len);
    CAPTURE(tiles[0]);
    CAPTURE(tiles[1]);
    CAPTURE(tiles[2]);
    for (const Island& island : schedule.islands) {
      CAPTURE(island.name);
      compare(schedule, island, bind_nest(schedule, island, workload, mask, tiles));
    }
  }
}

}  // namespace

TEST_CASE("transfer rule equals the walk for every shipped schedule on random ragged shapes and masks") {
  MESSAGE("seed " << test_seed());
  for (const std::string& name : shipped_names(models() + "/schedules")) {
    CAPTURE(name);
    compare_many(find_schedule(name, models()), 500);
  }
}

TEST_CASE("transfer rule equals the walk when keys are the outer stream and accumulators are loaded and stored") {
  Schedule schedule = find_schedule("flash2", models());
  auto& loops = schedule.islands[0].loops;
  std::swap(loops[3], loops[4]);
  loops[3].partition = loops[4].partition = Partition::stream;
  RandomShapes random(test_seed());
  for (int i = 0; i < 2000; ++i) {
    const Workload workload = random.workload();
    const Mask mask = random.mask(workload);
    std::array<std::int64_t, 8> tiles{random.between(1, 10), random.between(1, 10), random.between(1, 3)};
    CAPTURE(i);
    CAPTURE(mask.text);
    CAPTURE(workload.q_len);
    CAPTURE(workload.kv_len);
    CAPTURE(tiles[0]);
    CAPTURE(tiles[1]);
    compare(schedule, schedule.islands[0], bind_nest(schedule, schedule.islands[0], workload, mask, tiles));
  }
}

TEST_CASE("the same nest with axes of the islands reordered costs the same") {
  Schedule schedule = find_schedule("flash2", models());
  Schedule reordered = schedule;
  std::swap(reordered.islands[0].loops[0], reordered.islands[0].loops[2]);
  RandomShapes random(test_seed());
  for (int i = 0; i < 200; ++i) {
    const Workload workload = random.workload();
    const std::array<std::int64_t, 8> tiles{random.between(1, 10), random.between(1, 10), 1};
    const Nest a = bind_nest(schedule, schedule.islands[0], workload, {}, tiles),
               b = bind_nest(reordered, reordered.islands[0], workload, {}, tiles);
    for (const Array& array : schedule.diagram.arrays)
      CHECK(touched_values(a, {}, array.axes) == touched_values(b, {}, array.axes));
  }
}

}  // namespace tilescope::cost_walk_test
