// Every shipped GPU answers every kind of question, within the roofs of its datasheet.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/data_directory.h"
#include "request/answer.h"
#include "request/compared.h"
#include "request/searched.h"

namespace tilescope::all_gpus_test {
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

TEST_CASE("a lower bound takes no memory's rate below that of its datasheet, whatever --basis says") {
  std::size_t levels = 0;
  for (const HardwareProfile& gpu : list_profiles(data_directory() / "hardware"))
    for (const std::string basis : {"", "derived"}) {
      Options options = options_for(gpu.id, false);
      if (!basis.empty()) options = options.with("basis", basis);
      const Answer answered = answer(options);
      if (answered.prediction.time.modelled) continue;
      for (const auto& [resource, id] : {std::pair{Resource::hbm, LevelId::hbm}, std::pair{Resource::llc, LevelId::llc},
                                         std::pair{Resource::l2, LevelId::l2}}) {
        const MemoryLevel* level = gpu.level(id);
        if (!level || !level->bandwidth_bytes_per_second) continue;
        CAPTURE(gpu.id);
        CAPTURE(level->name());
        const double seconds = answered.prediction.time.seconds[static_cast<std::size_t>(resource)];
        const auto bytes = static_cast<double>(answered.prediction.traffic.both(id));
        CHECK(seconds * level->bandwidth_bytes_per_second->value <= bytes * (1 + 1e-9));
        ++levels;
      }
    }
  CHECK(levels > 10);
}

TEST_CASE("decode, paged keys, latent attention, quantised keys and gradients have a schedule on every shipped GPU") {
  using Given = std::vector<std::pair<std::string, std::string>>;
  const Given decode{{"schedule", "split-kv"}, {"heads-q", "16"}, {"heads-kv", "2"}, {"q-len", "1"},
                     {"kv-len", "2k"},         {"batch", "4"},    {"splits", "4"}},
      gradients{{"heads-q", "4"}, {"q-len", "1k"}, {"mask", "causal"}},
      latent{{"heads-q", "16"}, {"q-len", "1"}, {"kv-len", "2k"}, {"batch", "4"}, {"schedule", "flash2"}};
  const auto with = [](Given given, const Given& more) {
    given.insert(given.end(), more.begin(), more.end());
    return given;
  };
  const std::vector<std::pair<std::string, Given>> questions{
      {"fp8 keys", with(decode, {{"dtype", "fp16,kv=fp8"}})},
      {"int8 keys", with(decode, {{"dtype", "fp16,kv=int8:g64:b2"}})},
      {"int4 keys", with(decode, {{"dtype", "fp16,kv=int4:g32:b2:z4"}})},
      {"paged", with(decode, {{"diagram", "attention_paged"}, {"size", "pages=128"}})},
      {"paged latent", with(latent, {{"diagram", "mla_absorbed_paged"}, {"size", "pages=32"}})},
      {"expanded latent", {{"diagram", "mla_expanded"}, {"heads-q", "8"}, {"q-len", "1k"}, {"schedule", "flash2"}}},
      {"gradients", with(gradients, {{"schedule", "flash2-backward"}})},
      {"gradients in two kernels", with(gradients, {{"schedule", "flash2-backward-split"}})}};
  std::map<std::string, std::set<std::string>> models;  // by vendor
  for (const HardwareProfile& gpu : list_profiles(data_directory() / "hardware"))
    for (const auto& [name, given] : questions) {
      CAPTURE(gpu.id);
      CAPTURE(name);
      Options options = Options().with("hardware", gpu.id).with("l2", "closed");
      for (const auto& [option, value] : given) options = options.with(option, value);
      if (!options.has("diagram") || options.text("diagram") == "attention_paged")
        options = options.with("head-dim", "128");
      const Answer answered = answer(options);
      CHECK(answered.prediction.feasible);
      const double seconds = answered.prediction.time.total;
      CHECK(std::isfinite(seconds));
      const double bytes = static_cast<double>(answered.prediction.compulsory_bytes);
      const double dram = answered.prediction.time.seconds[static_cast<std::size_t>(Resource::hbm)];
      CHECK(dram >= bytes / gpu.level(LevelId::hbm)->bandwidth_bytes_per_second->value * (1 - 1e-9));
      models[gpu.vendor].insert(model_name(answered.prediction));
    }
  CHECK(models["NVIDIA"] == std::set<std::string>{"blocks"});  // one model for all of a vendor
  CHECK(models["AMD"] == std::set<std::string>{"bound"});
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
  for (const bool decode : {false, true}) {
    const Json printed = compared(options_for(all, decode, true)).json();
    for (const Json& row : printed["rows"]) {
      CAPTURE(row.dump());
      CHECK(row["microseconds"].get<double>() > 0);
      CHECK(row["basis"] == (row["model"] == "bound" ? "published" : "derived"));
    }
  }
}

}  // namespace tilescope::all_gpus_test
