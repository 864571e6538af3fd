// Work of assumed implementations: conversions of narrow formats and the operations of the diagram's expressions.
#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "predict/explain/notes.h"
#include "predict/predict.h"

namespace tilescope::assumed_work_test {
namespace {

const std::filesystem::path work_root = TILESCOPE_SOURCE_DIR;

HardwareProfile profile(const std::string& id) { return find_profile(id, work_root / "hardware"); }

Point prefill(const Plan& plan, const std::string& all, const std::string& kv, std::int64_t length = 8192) {
  Point point = default_point(plan);
  point.workload = {1, 16, 16, length, length, 128, 128}, point.tiles[0] = 128, point.tiles[1] = 64;
  point.l2 = L2Model::walk;
  set_dtype(point, plan.schedule.diagram, "", *parse_dtype(all));
  if (!kv.empty()) set_dtype(point, plan.schedule.diagram, "kv", *parse_dtype(kv));
  return point;
}

std::int64_t on(const Prediction& prediction, Pipe pipe) {
  return prediction.work.pipes[static_cast<std::size_t>(pipe)];
}

// Softmax attention's diagram with weights max(S, 0).
std::filesystem::path relu_attention() {
  std::ifstream in(work_root / "models" / "diagrams" / "attention_spherical.yaml");
  std::string line, text;
  while (std::getline(in, line)) {
    if (line.find("squares") != std::string::npos || line.find("  N:") == 0) continue;
    if (const auto at = line.find("S * rsqrt(N)"); at != std::string::npos) line.replace(at, 12, "\"max(S, 0)\"");
    text += line + "\n";
  }
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("tilescope_relu_" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(file) << text;
  return file;
}

}  // namespace

TEST_CASE("narrow keys and values do not speed up a prefill that the tensor cores bound") {
  const Plan plan = load_plan_for_schedule("flash2", work_root);
  const HardwareProfile h200 = profile("h200_sxm");
  const double fp16 = predict(plan, h200, prefill(plan, "fp16", "")).time.total;
  for (const std::string kv : {"int4", "int4:g32", "int8:g64", "mxfp4", "nvfp4", "fp8"}) {
    CAPTURE(kv);
    CHECK(predict(plan, h200, prefill(plan, "fp16", kv)).time.total >= fp16);
  }
}

TEST_CASE("each block converts each tile of keys and values that it loads once, by the instructions of the pair") {
  const Plan plan = load_plan_for_schedule("flash2", work_root);
  const HardwareProfile h200 = profile("h200_sxm");
  for (const std::int64_t length : {1024, 2048}) {
    const Prediction fp16 = predict(plan, h200, prefill(plan, "fp16", "", length)),
                     int4 = predict(plan, h200, prefill(plan, "fp16", "int4:g32", length));
    const std::int64_t converted = 16 * (length / 128) * length * 2 * 128;  // heads, query tiles, values of K and V
    CHECK(on(int4, Pipe::alu) - on(fp16, Pipe::alu) == converted * 5 / 8);
    CHECK(on(int4, Pipe::ffma) - on(fp16, Pipe::ffma) == converted / 4);
    CHECK(on(int4, Pipe::fadd) - on(fp16, Pipe::fadd) == converted / 4);
    CHECK(on(int4, Pipe::fmul) - on(fp16, Pipe::fmul) == converted / 2);
    CHECK(on(int4, Pipe::conversion) == on(fp16, Pipe::conversion));
  }
}

TEST_CASE("attention with max(S, 0) instead of a softmax executes no exponential") {
  const std::filesystem::path file = relu_attention();
  const Plan plan = load_plan_for_schedule("flash2", work_root, file.string());
  std::filesystem::remove(file);
  const Prediction prediction = predict(plan, profile("h200_sxm"), prefill(plan, "fp16", "", 1024));
  CHECK(prediction.work.exp == 0);
  CHECK(on(prediction, Pipe::xu) == 0);
  CHECK(on(prediction, Pipe::fmul) == 0);
  CHECK(on(prediction, Pipe::alu) == 16 * 1024 * 1024);                                   // one maximum a score
  CHECK(on(prediction, Pipe::conversion) == 16 * 1024 * 1024 / 2 + 16 * 1024 * 128 / 2);  // P and O, two at once
}

TEST_CASE("softmax attention takes an exponential, a multiply-add, a sum and a maximum a score") {
  const Plan plan = load_plan_for_schedule("flash2", work_root);
  const Prediction prediction = predict(plan, profile("h200_sxm"), prefill(plan, "fp16", "", 1024));
  const std::int64_t rows = 16 * 1024, scores = rows * 1024, steps = 1024 / 64;
  CHECK(on(prediction, Pipe::xu) == scores + rows * steps + 2 * rows);
  CHECK(on(prediction, Pipe::ffma) == scores + rows);
  CHECK(on(prediction, Pipe::fadd) == scores + rows * steps);
  CHECK(on(prediction, Pipe::fmul) == rows * steps * (128 + 3) + rows * 128);
  CHECK(on(prediction, Pipe::alu) == scores);
}

TEST_CASE("products are computed in a format of the GPU's tensor cores, and the output says which and why") {
  const Plan plan = load_plan_for_schedule("flash2", work_root);
  const auto lines = [&](const char* gpu, const std::string& all, const std::string& kv = "") {
    return computed_products(plan, profile(gpu), prefill(plan, all, kv));
  };
  const auto l40s = lines("l40s", "mxfp4");
  CHECK(l40s[0].format == "bf16");
  CHECK(l40s[0].reason == "the tensor cores of L40S 48GB have no mxfp4");
  const auto b200 = lines("b200_sxm", "mxfp4");
  CHECK(b200[0].format == "mxfp4");
  CHECK(b200[0].reason.empty());
  CHECK(b200[1].format == "bf16");
  CHECK(b200[1].reason == "V has scales along e, which the product does not sum over");
  CHECK(b200[1].converted == std::vector<std::string>{"V"});
  CHECK(lines("b200_sxm", "fp8", "fp4")[0].converted.empty());  // kind::f8f6f4 takes both
  CHECK(lines("h200_sxm", "fp4")[0].format == "fp8_e4m3");
  CHECK(lines("a100_sxm_80", "fp8")[0].format == "fp16");
  CHECK(lines("h200_sxm", "int4")[0].format == "int8");
  CHECK(lines("h200_sxm", "int4:g32")[0].format == "fp16");
  CHECK(lines("h200_sxm", "fp8", "int8")[0].format == "fp16");
  CHECK(lines("h200_sxm", "fp16", "int4")[0].reason.empty());
}

TEST_CASE("in every pair of formats a product is computed in one that the GPU has, or the point is infeasible") {
  const Plan plan = load_plan_for_schedule("flash2", work_root);
  for (const char* gpu : {"h200_sxm", "b200_sxm", "a100_sxm_80", "v100_sxm2"}) {
    const HardwareProfile hardware = profile(gpu);
    for (const std::string& q : dtype_names())
      for (const std::string& kv : dtype_names()) {
        CAPTURE(gpu);
        CAPTURE(q);
        CAPTURE(kv);
        Point point = prefill(plan, q, kv, 256);
        point.l2 = L2Model::closed;
        bool all = true;
        for (const ComputedProduct& each : computed_products(plan, hardware, point))
          all = all && hardware.tensor_flop_per_cycle.contains(*parse_format(each.format));
        CHECK(predict(plan, hardware, point).runnable == all);
      }
  }
}

}  // namespace tilescope::assumed_work_test
