// Every shipped GPU answers every kind of question, within the roofs of its datasheet.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "base/data_directory.h"
#include "request/answer.h"
#include "request/compared.h"
#include "request/searched.h"

namespace tilescope {
namespace {

// Small sizes cost little, for what does not depend on them.
Options options_for(const std::string& gpu, bool decode, bool small = false) {
  Options options;
  const auto give = [&](const std::string& name, const std::string& value) { options = options.with(name, value); };
  give("hardware", gpu), give("dtype", "fp16"), give("head-dim", "128");
  give("schedule", decode ? "split-kv" : "flash2");
  give("heads-q", small ? "2" : decode ? "64" : "16"), give("heads-kv", small ? "2" : decode ? "8" : "16");
  give("q-len", decode ? "1" : small ? "512" : "2k");
  if (decode) give("kv-len", small ? "4k" : "32k"), give("batch", small ? "1" : "16"), give("splits", "16");
  return options;
}

// Seconds of the datasheet's roofs: DRAM moves the compulsory bytes, the tensor cores execute the tiles' products.
double roof_seconds(const HardwareProfile& gpu, const Prediction& prediction, const Json& json) {
  const double bytes = static_cast<double>(prediction.compulsory_bytes);
  const double flop = json["work"]["tensor_flop"].get<double>();
  const double dram = gpu.level(LevelId::hbm)->bandwidth_bytes_per_second->value;
  const double clock = gpu.tensor_hz ? gpu.tensor_hz->value : gpu.boost_hz->value;
  const double tensor = static_cast<double>(gpu.units.value) * clock * gpu.tensor_flop_per_cycle.at(Format::fp16).value;
  return std::max(bytes / dram, flop / tensor);
}

}  // namespace

TEST_CASE("every shipped GPU predicts prefill and decode, within the roofs of its datasheet") {
  for (const HardwareProfile& gpu : list_profiles(data_directory() / "hardware"))
    for (const bool decode : {false, true}) {
      CAPTURE(gpu.id);
      CAPTURE(decode);
      const Answer answered = answer(options_for(gpu.id, decode));
      const Prediction& prediction = answered.prediction;
      CHECK(prediction.feasible);
      const double seconds = prediction.time.total;
      REQUIRE(std::isfinite(seconds));
      const double roof = roof_seconds(gpu, prediction, answered.json());
      CHECK(seconds >= roof * (1 - 1e-9));
      CHECK(seconds < 8 * roof);
      CHECK(prediction.time.modelled == (gpu.vendor == "NVIDIA"));
    }
}

TEST_CASE("absorbed MLA has a schedule that fits on every shipped GPU, in decoding and prefill") {
  bool scores_in_smem = false;  // warps that share rows pass scores on
  for (const HardwareProfile& gpu : list_profiles(data_directory() / "hardware"))
    for (const std::string queries : {"1", "2k"}) {
      CAPTURE(gpu.id);
      CAPTURE(queries);
      Options options;
      for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{{"hardware", gpu.id},
                                                                                        {"diagram", "mla_absorbed"},
                                                                                        {"heads-q", "128"},
                                                                                        {"dtype", "fp16"},
                                                                                        {"q-len", queries},
                                                                                        {"kv-len", "4k"}})
        options = options.with(name, value);
      const Answer answered = answer(options);
      CHECK(answered.prediction.feasible);
      CHECK(answered.point.workload.heads_kv == 1);
      CHECK(std::isfinite(answered.prediction.time.total));
      for (const Term& term : answered.prediction.terms)
        scores_in_smem |= term.boundary == Boundary::smem && term.array >= 0 &&
                          answered.plan.schedule.diagram.arrays[static_cast<std::size_t>(term.array)].name == "P";
      CHECK(answered.prediction.time.total >= roof_seconds(gpu, answered.prediction, answered.json()) * (1 - 1e-9));
    }
  CHECK(scores_in_smem);
}

TEST_CASE("every shipped GPU can be searched and compared") {
  std::string all;
  for (const HardwareProfile& gpu : list_profiles(data_directory() / "hardware")) {
    all += (all.empty() ? "" : ",") + gpu.id;
    CAPTURE(gpu.id);
    const Searched searched = search_of(options_for(gpu.id, false));
    const auto best = searched.best();
    REQUIRE(!best.empty());
    CHECK(std::isfinite(best.front().tile.seconds));
  }
  for (const bool decode : {false, true})
    for (const Json& row : compared(options_for(all, decode, true)).json()["rows"]) {
      CAPTURE(row.dump());
      CHECK(row["microseconds"].get<double>() > 0);
      CHECK(row["basis"] == (row["model"] == "bound" ? "published" : "derived"));
    }
}

}  // namespace tilescope
