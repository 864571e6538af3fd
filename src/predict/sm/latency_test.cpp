// Tests the waits of a step: its own chain and its loads are two lists that add up, and a shorter latency shortens
// both.
#include "predict/sm/latency.h"

#include <doctest/doctest.h>

#include <random>

#include "predict/point/mechanisms.h"
#include "predict/textbook.h"

namespace tilescope::latency_test {
namespace {

std::vector<double> latencies(const Plan& plan, const HardwareProfile& hardware, const Point& point, Inputs inputs,
                              const Faster& faster = as_it_is) {
  const Staged stages = staged(plan, hardware, point);
  std::vector<double> all;
  for (LaunchAtSm launch : stages.launches) {
    launch.faster = faster;
    all.push_back(waits_of_step(launch, block_waits(launch), 1000, inputs));
  }
  return all;
}

}  // namespace

TEST_CASE("a step waits for its chain and for its loads: each without the other add up to both, launch by launch") {
  const HardwareProfile hardware = find_profile("h200_sxm", data / "hardware");
  std::mt19937 engine(419);
  int chains = 0, loads = 0;
  for (const char* kernel : {"reference", "reference_fp32", "reference_backward", "split_kv"}) {
    CAPTURE(kernel);
    const Plan plan = load_plan_for_kernel(kernel, data);
    for (int i = 0; i < 6; ++i) {
      const std::int64_t head_dim = i % 2 == 0 ? 64 : 128, length = 64 * static_cast<std::int64_t>(4 + engine() % 60);
      Point point = default_point(plan);
      point.workload = {1, 8, 8, length, length, head_dim, head_dim};
      if (std::string(kernel) == "split_kv") point.workload.q_len = 1;
      const Inputs inputs = engine() % 2 == 0 ? Inputs::in_memory : Inputs::in_l2;
      const auto both = latencies(plan, hardware, point, inputs);
      Faster faster = as_it_is;
      faster[static_cast<std::size_t>(Lever::latency)] = 2;
      const auto halved = latencies(plan, hardware, point, inputs, faster);
      point.time = without(Mechanism::load_waits);
      const auto chain = latencies(plan, hardware, point, inputs);
      point.time = without(Mechanism::chain_waits);
      const auto load = latencies(plan, hardware, point, inputs);
      for (std::size_t launch = 0; launch < both.size(); ++launch) {
        CHECK(both[launch] == doctest::Approx(chain[launch] + load[launch]));
        CHECK(halved[launch] == doctest::Approx(both[launch] / 2));
        chains += chain[launch] > 0, loads += load[launch] > 0;
      }
    }
  }
  CHECK(chains > 50);
  CHECK(loads > 50);
}

TEST_CASE("of blocks that read a tile at once one waits for memory, and the others half as long, under any mask") {
  const HardwareProfile hardware = find_profile("h200_sxm", data / "hardware");
  const Plan plan = load_plan_for_kernel("fused_mma", data);
  std::mt19937 random(631);
  for (int i = 0; i < 8; ++i) {
    const std::int64_t tiles = 2 + static_cast<std::int64_t>(random() % 14);
    Point point = default_point(plan);
    point.mask = *parse_mask(i % 2 == 0 ? "none" : "causal");
    point.workload = {1, 4, 4, 64 * tiles, 64 * tiles, 128, 128};  // all blocks at once, and all keys in the L2
    for (const KernelVariant& variant : plan.kernel.variants)
      if (variant.head_dim == 128 && variant.tile_q == 64 && variant.tile_kv == 64)
        take_variant(point, plan.schedule, variant);
    CAPTURE(tiles);
    CAPTURE(point.mask.text);
    double reads = 0, waits = 0;
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      const auto readers = static_cast<double>(i % 2 == 0 ? tiles : tiles - tile);
      reads += readers, waits += (1 + readers) / 2;
    }
    const Staged stages = staged(plan, hardware, point);
    REQUIRE(stages.launches.size() == 1);
    CHECK(missed_part(stages.launches[0], Inputs::in_memory) == doctest::Approx(waits / reads));
    CHECK(missed_part(stages.launches[0], Inputs::in_l2) == 0);
  }
}

TEST_CASE(
    "what threads load to registers comes from memory as far as the L2 lacks it, but for what a launch before wrote") {
  const HardwareProfile hardware = find_profile("h200_sxm", data / "hardware");
  std::mt19937 random(28);
  int from_memory = 0, found = 0;
  for (const char* kernel : {"flash1", "fused_mma", "pytorch_flash2_backward_d128"}) {
    CAPTURE(kernel);
    const Plan plan = load_plan_for_kernel(kernel, data);
    for (int i = 0; i < 4; ++i) {
      Point point = default_point(plan);
      const std::int64_t length = 64 * static_cast<std::int64_t>((i % 2 == 0 ? 4 : 100) + random() % 30);
      point.workload = {1, 32, 32, length, length, 128, 128};
      CAPTURE(length);
      const Staged stages = staged(plan, hardware, point);
      for (const LaunchAtSm& launch : stages.launches) {
        CHECK(missed_loads(launch, Inputs::in_l2) == 0);
        const double missed = missed_loads(launch, Inputs::in_memory);
        if (std::string(kernel) != "flash1") {
          CHECK(missed == 0);  // no such arrays; D, which the first launch writes
          continue;
        }
        // One block a head: nobody else reads its rows.
        const Diagram& diagram = launch.bound.plan.schedule.diagram;
        const ArrayId m = *diagram.find_array("m");
        double read = 0;
        for (const Term& term : launch.counts.terms)
          if (term.array == static_cast<int>(m) && term.boundary == Boundary::l2 && term.direction == Direction::read)
            read += static_cast<double>(term.bytes);
        CHECK(missed == doctest::Approx(read > 0 ? read_from(Boundary::hbm, launch.counts, m) / read : 0));
        (missed > 0 ? from_memory : found) += 1;
      }
    }
  }
  CHECK(from_memory == 2);  // of the long ones, whose rows do not fit into the L2
  CHECK(found == 2);
}

}  // namespace tilescope::latency_test
