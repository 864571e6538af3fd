// The functions of the page, compiled for this machine: what they answer is what the command line answers.
#include "wasm/call.h"

#include <doctest/doctest.h>

#include <random>

#include "base/test_seed.h"
#include "request/answer.h"
#include "request/option_specs.h"
#include "request/searched.h"

namespace call_test {

using namespace tilescope;

namespace {

using Given = std::map<std::string, std::vector<std::string>>;

Json replied(const std::string& name, const Given& given) {
  Json options = Json::array();
  for (const auto& [option, values] : given)
    for (const std::string& value : values) options.push_back({option, value});
  return Json::parse(wasm::call(Json{{"call", name}, {"options", options}}.dump()));
}

const Given small{{"hardware", {"h200_sxm"}}, {"kernel", {"fused_mma"}}, {"heads-q", {"16"}},
                  {"q-len", {"1k"}},          {"head-dim", {"128"}},     {"tile", {"q=128,kv=64,warps=4"}}};

Given with(Given given, const std::string& name, const std::string& value) {
  given[name] = {value};
  return given;
}

}  // namespace

TEST_CASE("the page's prediction is the command line's, to the last digit") {
  std::mt19937_64 random(test_seed());
  const std::vector<std::string> gpus{"h200_sxm", "l40s", "a100_sxm_80", "b200_sxm", "mi300x"};
  const std::vector<std::string> schedules{"flash2", "flash1", "standard", "split-kv"};
  const auto pick = [&](const std::vector<std::string>& list) { return list[random() % list.size()]; };
  for (int i = 0; i < 12; ++i) {
    Given given{{"hardware", {pick(gpus)}},
                {"schedule", {pick(schedules)}},
                {"q-len", {std::to_string(1 + random() % 2000)}},
                {"kv-len", {std::to_string(1 + random() % 2000)}},
                {"heads-q", {std::to_string(1 + random() % 9)}},
                {"head-dim", {pick({"64", "96", "128"})}},
                {"dtype", {pick({"fp16", "bf16", "fp16,kv=int8:g64:b2"})}},
                {"l2", {pick({"walk", "closed"})}},
                {"tile", {"q=64,kv=32,warps=4"}}};
    if (random() % 2 == 0) given["set"] = {"levels.hbm.bandwidth=+20%"};
    const Json reply = replied("predict", given);
    const Json point = replied("point", given);
    try {
      std::vector<std::pair<std::string, std::string>> pairs;
      for (const auto& [name, values] : given) pairs.emplace_back(name, values.front());
      const Json expected = answer(checked_options(pairs, point_options())).json();
      CHECK(reply.at("answer").dump(2) == expected.dump(2));
      CHECK(point.at("answer").at("prediction").dump(2) == expected.dump(2));
    } catch (const InputError& error) {
      CHECK(reply.at("error") == error.what());
      CHECK(point.at("error") == error.what());
    }
  }
}

TEST_CASE("a search by the page is the command line's") {
  const Given given{{"hardware", {"h200_sxm"}}, {"kernel", {"fused_mma"}}, {"q-len", {"1k"}}, {"head-dim", {"64"}}};
  const Json expected = search_of(Options(given)).json();
  CHECK(replied("search", given).at("answer").dump(2) == expected.dump(2));
}

TEST_CASE("parts of a drawn time add up to the prediction's, and the roofs are the GPU's") {
  const Json drawn = replied("point", small).at("answer");
  double parts = 0;
  for (const auto& [unit, seconds] : drawn.at("split").at("busiest").items()) parts += seconds.get<double>();
  for (const char* key : {"waits", "idle", "launch"}) parts += drawn.at("split").at(key).get<double>();
  CHECK(parts == doctest::Approx(drawn.at("prediction").at("time").at("seconds").get<double>()));
  CHECK(drawn.at("format") == "fp16");
  CHECK(drawn.at("gpu").at("roofs").size() >= 3);
  REQUIRE(drawn.at("gpu").at("peaks").size() >= 1);

  const Json faster = replied("point", with(small, "set", "levels.l2.capacity=+20%,compute.units=66")).at("answer");
  const auto peak = [](const Json& of) { return of.at("gpu").at("peaks").at(0).at("flop_per_second").get<double>(); };
  CHECK(peak(faster) == doctest::Approx(peak(drawn) / 2));

  CHECK(replied("point", with(with(small, "hardware", "mi300x"), "kernel", "reference")).contains("error"));
  Given bound = small;
  bound.erase("kernel"), bound["hardware"] = {"mi300x"};
  CHECK(replied("point", bound).at("answer").at("split").is_null());
}

TEST_CASE("a point that does not fit has no parts") {
  Given big = small;
  big.erase("kernel"), big["hardware"] = {"l40s"}, big["tile"] = {"q=512,kv=512"};
  const Json drawn = replied("point", big).at("answer");
  CHECK(drawn.at("prediction").at("feasible") == false);
  CHECK(drawn.at("split").is_null());
}

TEST_CASE("a bad question gets one message") {
  CHECK(replied("predict", with(small, "hardware", "h201_sxm")).at("error") ==
        "error: hardware: unknown GPU 'h201_sxm'; did you mean 'h200_sxm'?");
  CHECK(replied("predict", with(small, "q_lenn", "4k")).at("error").get<std::string>().find("did you mean 'q-len'") !=
        std::string::npos);
  CHECK(replied("forecast", small).at("error") == "error: call: expected predict, search or point");
  for (const std::string text : {"", "{", "[]", "{\"call\": \"predict\"}", "{\"call\": 1, \"options\": []}",
                                 "{\"call\": \"predict\", \"options\": {\"hardware\": \"l40s\"}}"}) {
    CAPTURE(text);
    CHECK(Json::parse(wasm::call(text)).at("error").get<std::string>().starts_with("call: expected {"));
  }
}

}  // namespace call_test
