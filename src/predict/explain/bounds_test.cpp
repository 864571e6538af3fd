// Tests lower bounds of traffic. No schedule, tile or GPU moves fewer bytes than its bound. Each bound equals its
// formula, worked out by hand.
#include "predict/explain/bounds.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "predict/predict.h"

namespace tilescope::bounds_test {
namespace {

const std::string hardware_directory = std::string(TILESCOPE_SOURCE_DIR) + "/hardware";

std::vector<TrafficBound> bounds_of(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  Prediction prediction;
  predict(plan, hardware, point, prediction);
  return lower_bounds(plan, hardware, point, prediction);
}

const TrafficBound* find(const std::vector<TrafficBound>& list, Boundary boundary, const std::string& name,
                         int island = -1) {
  for (const TrafficBound& bound : list)
    if (bound.boundary == boundary && bound.name == name && bound.island == island) return &bound;
  return nullptr;
}

// A GPU with 1024 bytes of on-chip memory. A block has 64 bytes of shared memory and 128 bytes of registers.
HardwareProfile small_gpu() {
  HardwareProfile hardware;
  hardware.id = "small";
  hardware.units.value = 2;
  const auto level = [&](LevelId id, double capacity) -> MemoryLevel& {
    hardware.levels.push_back({});
    hardware.levels.back().id = id;
    hardware.levels.back().capacity_bytes = Sourced<double>{capacity, "test"};
    return hardware.levels.back();
  };
  level(LevelId::l2, 512);
  level(LevelId::smem, 128).capacity_per_block_bytes = Sourced<double>{64, "test"};
  level(LevelId::reg, 128);
  return hardware;
}

}  // namespace

TEST_CASE("no schedule moves less than its bounds, on any GPU, with any tile") {
  const Workload workloads[] = {
      {2, 8, 2, 300, 1000, 64, 128}, {1, 2, 2, 4096, 4096, 128, 128}, {1, 1, 1, 65536, 65536, 32, 32}};
  int compared = 0, of_attention = 0;
  for (const char* name : {"standard", "flash1", "flash1-printed", "flash2", "split-kv", "flash1-backward",
                           "flash2-backward", "flash2-backward-split", "matmul"})
    for (const char* gpu : {"h200_sxm", "v100_sxm2", "rtx4090"})
      for (const char* mask : {"none", "causal", "window:100"})
        for (const Workload& workload : workloads) {
          const Plan plan = load_plan_for_schedule(name, TILESCOPE_SOURCE_DIR);
          Point point = default_point(plan);
          point.workload = workload, point.mask = *parse_mask(mask);
          for (const TrafficBound& bound : bounds_of(plan, find_profile(gpu, hardware_directory), point)) {
            CAPTURE(name);
            CAPTURE(gpu);
            CAPTURE(mask);
            CAPTURE(bound.name);
            // A backward kernel that skips masked tiles does not write dK and dV of keys that no query sees. Their
            // zeros are written elsewhere.
            if (bound.name == "compulsory" && point.mask.kind != MaskKind::none &&
                pass_of(plan.schedule.diagram) == Pass::backward)
              continue;
            CHECK(static_cast<double>(bound.moved_bytes) >= bound.bytes);
            CHECK(bound.times() >= 1);
            ++compared, of_attention += bound.name.starts_with("attention");
          }
        }
  CHECK(compared > 500);
  CHECK(of_attention > 50);
}

TEST_CASE("the attention bound is Saha and Ye's formula with the memory inside the boundary, for all heads together") {
  const Plan plan = load_plan_for_schedule("flash2", TILESCOPE_SOURCE_DIR);
  Point point = default_point(plan);
  point.workload = {2, 4, 2, 256, 512, 8, 16};
  const auto list = bounds_of(plan, small_gpu(), point);
  const auto by_hand = [](double pairs, double d, double bytes) {
    const double values = bytes / 2;  // fp16
    return 2 * (pairs * d * d / (values + 4 * d * d) - values);
  };
  const double pairs = 2.0 * 4 * 256 * 512;
  const TrafficBound *hbm = find(list, Boundary::hbm, "attention, M >= d^2"),
                     *l2 = find(list, Boundary::l2, "attention, M >= d^2");
  REQUIRE(hbm);
  REQUIRE(l2);
  CHECK(hbm->memory_bytes == 512 + 2 * (128 + 128));
  CHECK(hbm->bytes == doctest::Approx(by_hand(pairs, 8, 1024)));
  CHECK(l2->memory_bytes == 64 + 128);
  CHECK(l2->bytes == doctest::Approx(by_hand(pairs, 8, 192)));
  point.mask = *parse_mask("window:32");  // each row sees 32 keys: there are more keys than queries
  const auto masked = bounds_of(plan, small_gpu(), point);
  REQUIRE(find(masked, Boundary::l2, "attention, M >= d^2"));
  CHECK(find(masked, Boundary::l2, "attention, M >= d^2")->bytes ==
        doctest::Approx(by_hand(2.0 * 4 * 256 * 32, 8, 192)));
  point.workload.d_qk = 64;  // M < d^2: the bound does not apply
  CHECK(find(bounds_of(plan, small_gpu(), point), Boundary::l2, "attention, M >= d^2") == nullptr);
}

TEST_CASE("the matmul bound applies to a kernel that is one contraction, not to a fused kernel") {
  Plan plan = load_plan_for_schedule("matmul", TILESCOPE_SOURCE_DIR);
  for (const char* size : {"a", "b", "c"}) set_size(plan.schedule.diagram, size, 1024);
  const auto list = bounds_of(plan, small_gpu(), default_point(plan));
  REQUIRE(find(list, Boundary::l2, "matmul"));
  CHECK(find(list, Boundary::l2, "matmul")->bytes ==
        doctest::Approx(2 * (2 * std::pow(1024.0, 3) / std::sqrt(96.0) + 1024.0 * 1024)));  // COSMA, theorem 1
  const Plan standard = load_plan_for_schedule("standard", TILESCOPE_SOURCE_DIR),
             flash2 = load_plan_for_schedule("flash2", TILESCOPE_SOURCE_DIR);
  Point point = default_point(standard);
  point.workload = {2, 4, 4, 256, 512, 64, 64};
  const auto unfused = bounds_of(standard, small_gpu(), point);
  for (const int island : {0, 2}) {
    REQUIRE(find(unfused, Boundary::l2, "matmul", island));
    CHECK(find(unfused, Boundary::l2, "matmul", island)->bytes ==
          doctest::Approx(2 * (2 * 2.0 * 4 * 256 * 512 * 64 / std::sqrt(96.0) - 2 * 96)));  // a batch: without m n
  }
  Point fused = default_point(flash2);
  fused.workload = point.workload;
  for (const TrafficBound& bound : bounds_of(flash2, small_gpu(), fused)) CHECK(bound.name != "matmul");
}

TEST_CASE(
    "the lower bound of a prediction is at least the compulsory bytes; for very long sequences it is the attention "
    "bound") {
  const Plan plan = load_plan_for_schedule("flash2", TILESCOPE_SOURCE_DIR);
  const HardwareProfile h200 = find_profile("h200_sxm", hardware_directory);
  Point point = default_point(plan);
  Prediction prediction;
  point.workload = {1, 1, 1, 1024, 1024, 128, 128};
  predict(plan, h200, point, prediction);
  CHECK(lower_bound_bytes(plan, h200, point, prediction) == prediction.compulsory_bytes);
  point.workload = {1, 1, 1, 1 << 24, 1 << 24, 128, 128};
  predict(plan, h200, point, prediction);
  CHECK(lower_bound_bytes(plan, h200, point, prediction) > prediction.compulsory_bytes);
  CHECK(lower_bound_bytes(plan, HardwareProfile{}, point, prediction) ==
        prediction.compulsory_bytes);  // the profile states no capacity
}

}  // namespace tilescope::bounds_test
