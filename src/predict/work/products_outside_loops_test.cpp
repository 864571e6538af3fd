// Products that a program computes outside a loop over axes that they lack: linear attention, O = Q (K^T V).
#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "base/checked.h"
#include "predict/linear_attention.h"
#include "predict/predict.h"

namespace tilescope::products_outside_loops_test {
namespace {

const std::filesystem::path root = TILESCOPE_SOURCE_DIR;

// KV is summed over the stream of x; O waits for KV, and its loop over q runs inside the last step of x.
Plan linear_attention() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("tilescope_linear_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::filesystem::path diagram = folder / "diagram.yaml", file = folder / "schedule.yaml";
  std::ofstream(diagram) << linear_attention_diagram;
  std::ofstream(file) << "diagram: " << diagram.string() << R"(
schema: tilescope/schedule/1
schedule: linear
summary: linear attention in one launch
parameters: {x: 64, q: 64}
islands:
  - name: O
    operators: [kv, nu]
    skips_masked_tiles: false
    loops:
      - {axis: b, partition: group, tile: 1}
      - {axis: h, partition: group, tile: 1}
      - {axis: x, partition: stream, tile: x}
      - {axis: q, partition: stream, tile: q}
)";
  Plan plan = load_plan_for_schedule(file.string(), root);
  std::filesystem::remove_all(folder);
  return plan;
}

}  // namespace

TEST_CASE("products that lack a loop's axis are computed once outside it, those that await a fold once after it") {
  const HardwareProfile hardware = find_profile("h200_sxm", root / "hardware");
  const Plan plan = linear_attention();
  constexpr std::int64_t d = 64, batch = 2, heads = 3;
  for (const auto& [q_len, kv_len, x, q] :
       {std::array<std::int64_t, 4>{512, 2048, 64, 64}, {1000, 777, 32, 128}, {100, 64, 64, 16}, {64, 5000, 128, 64}}) {
    CAPTURE(q_len);
    CAPTURE(kv_len);
    Point point = default_point(plan);
    point.workload = {batch, heads, heads, q_len, kv_len, d, d}, point.tiles[0] = x, point.tiles[1] = q;
    set_dtype(point, plan.schedule.diagram, "", *parse_dtype("fp16"));
    Prediction found;
    predict(plan, hardware, point, found);
    const std::int64_t rows = ceil_div(kv_len, x) * x + ceil_div(q_len, q) * q;
    CHECK(found.work.tensor_flop == 2 * batch * heads * rows * d * d);
    CHECK(found.work.clipped_flop == 2 * batch * heads * (kv_len + q_len) * d * d);
    CHECK(found.work.clipped_flop == found.work.model_flop);
  }
}

}  // namespace tilescope::products_outside_loops_test
