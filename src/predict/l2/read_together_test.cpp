#include "predict/l2/read_together.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <random>
#include <tuple>

#include "base/test_seed.h"
#include "predict/l2/memory_seconds.h"
#include "predict/l2/walk/nest_steps.h"
#include "predict/l2/walk/random_order.h"
#include "predict/textbook.h"

namespace l2_read_together_test {

using namespace tilescope;

namespace {

// Every read of every block by itself, each tile after the one before: when, of which tile.
double walked(const BoundIsland& bound, ArrayId id, std::int64_t at_work, std::size_t groups) {
  const AxisBits axes = bits(bound.plan.schedule.diagram.array(id).axes);
  const BlockOrder order(bound);
  const NestSteps steps(bound);
  std::vector<double> free(static_cast<std::size_t>(at_work), 0.0);
  std::map<std::tuple<std::vector<std::int64_t>, std::int64_t>, std::int64_t> readers;  // by tile and time
  std::uint64_t random = 1;
  double read = 0, leave = 0;
  for (std::int64_t i = 0; i < order.size(); ++i) {
    NestPlace place{.at = order.at(i)};
    if (!steps.first(place)) continue;
    double& time = *std::min_element(free.begin(), free.end());
    const double begin = time, part = static_cast<double>(next_random(random)) / 2147483648.0;
    double now = begin, first = -1;
    do {
      std::vector<std::int64_t> tile;
      double at = 0;
      for (std::size_t l = 0; l < bound.nest.loop_count; ++l) {
        if (!Nest::carries(axes, bound.nest.loops[l])) continue;
        tile.push_back(place.at[l]);
        if (!bound.nest.loops[l].group) at = static_cast<double>(place.at[l]);
      }
      if (first < 0) first = at;
      ++readers[{tile, static_cast<std::int64_t>(std::floor((begin - first) * 1.5))}];
      now += 1;
    } while (steps.next(place));
    time = now + part;
  }
  for (const auto& [key, count] : readers) {
    const auto n = static_cast<double>(count), g = static_cast<double>(groups);
    read += n, leave += g * (1 - std::pow(1 - 1 / g, n));
  }
  return leave / read;
}

ArrayId keys_of(const Plan& plan) { return *plan.schedule.diagram.find_array("K"); }

}  // namespace

TEST_CASE("the part of a masked launch's reads that leaves the L2 is that of all reads one by one") {
  std::mt19937 random(test_seed());
  MESSAGE("seed " << test_seed());
  const HardwareProfile hardware = find_profile("h100_sxm", data / "hardware");
  const Plan rising = load_plan_for_kernel("case_study", data);
  for (int i = 0; i < 40; ++i) {
    Point point = attention(rising, 1 + static_cast<std::int64_t>(random() % 8),
                            64 + static_cast<std::int64_t>(random() % 4000), 64, 64, 4);
    point.l2 = L2Model::walk;
    point.mask = i % 2 ? *parse_mask("causal") : *parse_mask("window:" + std::to_string(64 + random() % 1000));
    CAPTURE(point.workload.heads_q);
    CAPTURE(point.workload.q_len);
    const auto bound = bind_islands(rising, hardware, point);
    const auto at_work = 1 + static_cast<std::int64_t>(random() % 300);
    const std::optional<double> part = part_that_leaves(bound.front(), keys_of(rising), at_work, 9);
    REQUIRE(part.has_value());
    CHECK(*part > 0);
    CHECK(*part <= 1 + 1e-12);
    CHECK(*part == doctest::Approx(walked(bound.front(), keys_of(rising), at_work, 9)));
  }
}

TEST_CASE(
    "blocks that begin together at one tile and end together share as many copies as groups that they fall into") {
  const HardwareProfile hardware = find_profile("h100_sxm", data / "hardware");
  const Plan plan = load_plan_for_kernel("case_study", data);
  Point point = attention(plan, 1, 64 * 100, 64, 64, 4);  // as many blocks as at work, all without a mask
  point.l2 = L2Model::walk;
  const auto bound = bind_islands(plan, hardware, point);
  const std::optional<double> part = part_that_leaves(bound.front(), keys_of(plan), 100, 9);
  REQUIRE(part.has_value());
  CHECK(*part == doctest::Approx(1 / asked_together(100, 9)));
}

}  // namespace l2_read_together_test
