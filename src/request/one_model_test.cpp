#include <doctest/doctest.h>

#include <random>
#include <set>

#include "base/data_directory.h"
#include "base/test_seed.h"
#include "base/text.h"
#include "predict/predict.h"
#include "predict/rate_basis.h"
#include "request/answer.h"
#include "request/compared.h"

namespace one_model_test {

using namespace tilescope;

namespace {

Options options_from(const std::vector<std::pair<std::string, std::string>>& given) {
  Options options;
  for (const auto& [name, value] : given) options = options.with(name, value);
  return options;
}

Json compared(const std::vector<std::string>& gpus, const std::string& basis = "") {
  Options options = options_from({{"hardware", join(gpus, ",")},
                                  {"schedule", "flash2"},
                                  {"tile", "q=64,kv=64,warps=4"},
                                  {"heads-q", "8"},
                                  {"q-len", "1k"},
                                  {"head-dim", "64"},
                                  {"dtype", "fp16"}});
  if (!basis.empty()) options = options.with("basis", basis);
  return tilescope::compared(options).json()["rows"];
}

}  // namespace

TEST_CASE("a comparison has one basis, and a bound is never set against a time") {
  std::mt19937 random(test_seed());
  const std::vector<std::string> all{"h200_sxm",  "h100_sxm", "h100_pcie", "a100_sxm_80", "a10",     "b200_sxm",
                                     "l4",        "l40s",     "rtx3090",   "rtx4090",     "rtx5090", "mi300x",
                                     "v100_sxm2", "gh200_96", "gb200",     "b300_sxm",    "h20",     "mi355x"};
  std::set<std::string> seen;
  for (int round = 0; round < 40; ++round) {
    std::vector<std::string> gpus;
    for (const std::string& gpu : all)
      if (random() % 4 == 0) gpus.push_back(gpu);
    if (gpus.size() < 2) continue;
    CAPTURE(join(gpus, ","));
    std::set<std::string> bases;
    double least = 0;
    for (const Json& row : compared(gpus)) {
      const bool bound = row["model"] == "bound";
      seen.insert(row["model"]);
      CHECK(bound == row["hardware"].get<std::string>().starts_with("mi3"));
      CHECK(row["times_fastest"].is_null() == bound);
      if (bound) CHECK(row["time_error"].is_null());
      if (bound) continue;
      bases.insert(row["basis"]);
      CHECK(row["times_fastest"] >= 1);
      least = least == 0 ? row["times_fastest"].get<double>() : std::min(least, row["times_fastest"].get<double>());
    }
    CHECK(bases.size() <= 1);
    CHECK(!bases.contains("mixed"));
    CHECK((bases.empty() || least == 1));
  }
  CHECK(seen.size() == 2);
}

TEST_CASE("measured GPUs are compared as measured, and --basis decides otherwise") {
  const auto bases = [](const Json& rows) {
    std::vector<std::string> list;
    for (const Json& row : rows) list.push_back(row["basis"]);
    return join(list, " ");
  };
  CHECK(bases(compared({"h200_sxm", "h100_sxm"})) == "measured measured");
  CHECK(bases(compared({"h200_sxm", "h100_sxm", "mi300x"})) == "measured measured published");
  CHECK(bases(compared({"h200_sxm", "l40s"})) == "derived derived");
  CHECK(bases(compared({"h200_sxm", "a100_sxm_80"}, "stated")) == "measured mixed");
  CHECK(bases(compared({"h200_sxm", "h100_sxm"}, "derived")) == "derived derived");
  CHECK(bases(compared({"a100_sxm_80"})) == "mixed");
}

TEST_CASE("a GPU that loses an entry is predicted by its rule, and the basis says so") {
  ProfileCatalogue catalogue(data_directory() / "hardware");
  const HardwareProfile whole = catalogue.find("h200_sxm");
  const Answer answered = answer(options_from(
      {{"hardware", "h200_sxm"}, {"kernel", "fused_wgmma"}, {"heads-q", "8"}, {"q-len", "1k"}, {"head-dim", "64"}}));
  CHECK(overall_basis(whole, answered.prediction) == Basis::measured);
  HardwareProfile bare = whole;
  bare.measured.reset(), bare.l2_ways.reset(), bare.l2_dirty_ways.reset(), bare.l2_slices.reset();
  bare.l2_groups.reset();
  CHECK(lacking_entries(bare).size() > 60);
  for (const DerivedRule& rule : lacking_entries(bare)) {
    CAPTURE(rule.entry);
    const HardwareProfile completed = catalogue.complete(without_entry(whole, rule.entry));
    const Prediction prediction = predict(answered.plan, completed, answered.point);
    CHECK(prediction.time.modelled);
    CHECK(prediction.time.total > 0.5 * answered.prediction.time.total);
    CHECK(prediction.time.total < 2 * answered.prediction.time.total);
  }
}

TEST_CASE("a rate without a rule is no part of a prediction, whichever engine makes it") {
  const HardwareProfile whole = find_profile("h200_sxm", data_directory() / "hardware");
  std::set<std::string> ruled;
  for (const DerivedRule& rule : derived_rules()) ruled.insert(rule.entry);
  HardwareProfile without = whole;
  std::size_t dropped = 0;
  for_each_measured(*whole.measured, [&](const std::string& path, Dimension, const Sourced<double>&) {
    const std::vector<std::string> parts = split(path, '.');
    const std::string entry = "measured." + parts[0] + "." + parts[1];
    if (!ruled.contains(entry)) without = without_entry(std::move(without), entry), ++dropped;
  });
  CHECK(dropped > 5);
  for (const std::string kernel : {"fused_wgmma", "fused_mma", "split_kv", "backward", "case_study"}) {
    CAPTURE(kernel);
    const Answer a = answer(options_from({{"hardware", "h200_sxm"},
                                          {"kernel", kernel},
                                          {"heads-q", "8"},
                                          {"q-len", kernel == "split_kv" ? "8" : "1k"},
                                          {"kv-len", "1k"},
                                          {"head-dim", "128"}}));
    for (const SmEngine engine : {SmEngine::simulated, SmEngine::synthesised}) {
      Point point = a.point;
      point.time.engine = engine;
      const Prediction expected = predict(a.plan, whole, point), found = predict(a.plan, without, point);
      CHECK(found.time.total == expected.time.total);
      CHECK(found.time.cold == expected.time.cold);
    }
  }
}

TEST_CASE("a prediction on a GPU with derived rates states the error that such predictions have") {
  const auto error_on = [](const std::string& gpu, const std::string& basis) {
    Options options = options_from(
        {{"hardware", gpu}, {"kernel", "fused_mma"}, {"heads-q", "8"}, {"q-len", "1k"}, {"head-dim", "64"}});
    if (!basis.empty()) options = options.with("basis", basis);
    return answer(options).options.error;
  };
  const auto own = error_on("h200_sxm", ""), rules = error_on("h200_sxm", "derived"), other = error_on("l40s", "");
  REQUIRE((own && rules && other));
  CHECK(own->basis.find("fused_mma") != std::string::npos);
  CHECK(rules->basis.find("h200_sxm with derived rates") != std::string::npos);
  CHECK(other->basis.find("a100_sxm_80") != std::string::npos);
  CHECK(other->mape > rules->mape);
  CHECK(!error_on("a100_sxm_40", "")->basis.empty());
}

}  // namespace one_model_test
