// Bytes of block formats, zero points and the scale of an array, in the terms and totals of a prediction.
#include <doctest/doctest.h>

#include <random>

#include "base/test_seed.h"
#include "predict/explain/bounds.h"
#include "predict/predict.h"

namespace tilescope::point_formats_test {
namespace {

const std::filesystem::path formats_root = TILESCOPE_SOURCE_DIR;

Point attention_point(const Plan& plan, const std::string& kv, const Workload& workload) {
  Point point = default_point(plan);
  point.workload = workload, point.tiles[0] = 64, point.tiles[1] = 64, point.l2 = L2Model::walk;
  set_dtype(point, plan.schedule.diagram, "kv", *parse_dtype(kv));
  return point;
}

std::int64_t hbm_reads(const Plan& plan, const Prediction& prediction, const char* array, Cause cause) {
  std::int64_t bytes = 0;
  for (const Term& term : prediction.terms)
    if (term.boundary == Boundary::hbm && term.array == static_cast<int>(*plan.schedule.diagram.find_array(array)) &&
        term.cause == cause && term.direction == Direction::read)
      bytes += term.bytes;
  return bytes;
}

}  // namespace

TEST_CASE("K and V in block formats cross HBM with the bytes of their scales, and compulsory bytes hold them") {
  const Plan plan = load_plan_for_schedule("flash2", formats_root);
  const HardwareProfile h200 = find_profile("h200_sxm", formats_root / "hardware");
  const Workload workload{1, 4, 4, 64, 256, 128, 128};
  const std::int64_t rows = 4 * 256, q_and_o = 2 * 4 * 64 * 128 * 2, l = 4 * 64 * 4;
  const std::vector<std::pair<const char*, std::int64_t>> bytes_of_row{
      {"mxfp8", 128 + 4}, {"mxfp6", 96 + 4}, {"mxfp4", 64 + 4}, {"nvfp4", 64 + 8}, {"int4:g32:z4", 64 + 8 + 2}};
  for (const auto& [kv, row] : bytes_of_row) {
    CAPTURE(kv);
    const Point point = attention_point(plan, kv, workload);
    const Prediction prediction = predict(plan, h200, point);
    const std::int64_t one_scale = parse_dtype(kv)->tensor_bytes;
    CHECK(hbm_reads(plan, prediction, "K", Cause::tile) == rows * row);
    CHECK(hbm_reads(plan, prediction, "V", Cause::one_scale) == one_scale);
    CHECK(prediction.compulsory_bytes == 2 * (rows * row + one_scale) + q_and_o + l);
    CHECK(lower_bound_bytes(plan, h200, point, prediction) >= prediction.compulsory_bytes);
  }
}

TEST_CASE("rows that a tile cuts keep the scales of their groups") {
  const Plan plan = load_plan_for_schedule("standard", formats_root);
  Point point = default_point(plan);
  point.workload = {1, 1, 1, 64, 256, 64, 64}, point.tiles[0] = 32, point.tiles[1] = 64;
  const Diagram& diagram = plan.schedule.diagram;
  set_dtype(point, diagram, "s", *parse_dtype("mxfp4"));
  CHECK(bytes_of(point, diagram, *diagram.find_array("S"), 32 * 64 + 64) == (32 * 64 + 64) / 2 + 32 * 2 + 2);
}

TEST_CASE("in random formats totals are the sums of their terms, and no level moves less than compulsory bytes") {
  const Plan plan = load_plan_for_schedule("flash2", formats_root);
  const HardwareProfile h200 = find_profile("h200_sxm", formats_root / "hardware");
  std::mt19937_64 random(test_seed());
  const auto draw = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  const std::vector<std::string> names = dtype_names();
  for (int round = 0; round < 60; ++round) {
    const std::string kv = names[static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(names.size()) - 1))];
    const Point point =
        attention_point(plan, kv, {draw(1, 2), 2, draw(1, 2), draw(1, 200), draw(1, 300), draw(1, 130), draw(1, 130)});
    CAPTURE(kv);
    const Prediction prediction = predict(plan, h200, point);
    LevelBytes sums;
    for (const Term& term : prediction.terms)
      sums[term.boundary][static_cast<std::size_t>(term.direction)] += term.bytes;
    CHECK(sums == prediction.traffic);
    CHECK(prediction.traffic.both(Boundary::hbm) >= prediction.compulsory_bytes);
    CHECK(prediction.traffic.both(Boundary::l2) >= prediction.compulsory_bytes);
  }
}

}  // namespace tilescope::point_formats_test
