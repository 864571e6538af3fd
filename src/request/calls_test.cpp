#include "request/calls.h"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "predict/point/support.h"

namespace calls_test {

using namespace tilescope;
using nlohmann::json;

namespace {

const std::string root = TILESCOPE_SOURCE_DIR;

Calls pytorch() { return load_calls(root + "/kernels/third_party/pytorch.calls.yaml"); }

bool any_launch_is(const json& launches, const std::string& name) {
  for (const json& launch : launches)
    if (launch["name"].get<std::string>().find(name) != std::string::npos) return true;
  return false;
}

Workload workload_of(const json& row, const char* head_dim) {
  return {row["batch"], row["heads_q"], row["heads_kv"], row["q_len"], row["kv_len"], row[head_dim], row[head_dim]};
}

}  // namespace

TEST_CASE("the table of PyTorch names the kernel of every recorded call, for the software's choice and each backend") {
  const Calls calls = pytorch();
  std::map<std::string, int> seen;  // by backend asked for
  for (const char* name : {"h100", "h200"}) {
    std::ifstream lines(root + "/validate/launches/" + name + ".jsonl");
    std::string line;
    REQUIRE(std::getline(lines, line));
    const HardwareProfile hardware = find_profile(json::parse(line)["hardware"], root + "/hardware");
    while (std::getline(lines, line)) {
      CAPTURE(line);
      const json row = json::parse(line);
      const std::string backend = row["backend"] == "default" ? "" : row["backend"];
      const Workload workload = workload_of(row, "head_dim");
      const CallRule* forward = launched_by(calls, hardware, {Pass::forward, workload, backend});
      if (!row.contains("launches")) {
        CHECK(forward == nullptr);
        continue;
      }
      REQUIRE(forward);
      CHECK(row["launches"][0]["name"].get<std::string>().find(forward->launches) != std::string::npos);
      if (row["pass"] == "training") {
        const CallRule* backward = launched_by(calls, hardware, {Pass::backward, workload, backend});
        REQUIRE(backward);
        CHECK(any_launch_is(row["launches"], backward->launches));
      }
      ++seen[backend];
    }
  }
  CHECK(seen[""] == 486);
  CHECK(seen["flash"] == 486);
  CHECK(seen["cudnn"] > 400);
  CHECK(seen["efficient"] > 100);
}

TEST_CASE("the table names the descriptor of every recorded third-party launch, whose shapes accept it") {
  const Calls calls = pytorch();
  int records = 0;
  for (const char* file : {"h100/h100_third_party.jsonl", "h200/third_party.jsonl"}) {
    std::ifstream lines(root + "/validate/records/" + file);
    std::string line, hardware_id;
    while (std::getline(lines, line)) {
      const json row = json::parse(line);
      if (row.contains("hardware")) hardware_id = row["hardware"];
      if (!row.contains("point")) continue;
      const std::string kernel = row["point"]["kernel"];
      CAPTURE(line.substr(0, 400));
      const std::string backend = kernel.starts_with("cudnn")               ? "cudnn"
                                  : kernel.starts_with("pytorch_efficient") ? "efficient"
                                                                            : "flash";
      const Pass pass = kernel.find("backward") == std::string::npos ? Pass::forward : Pass::backward;
      const HardwareProfile hardware = find_profile(hardware_id, root + "/hardware");
      const Workload workload = workload_of(row["point"]["workload"], "d_qk");
      const CallRule* rule = launched_by(calls, hardware, {pass, workload, backend});
      REQUIRE(rule);
      CHECK(rule->kernel == kernel);
      bool launched = false;
      for (const json& island : row["islands"])
        launched = launched || island["name"].get<std::string>().find(rule->launches) != std::string::npos;
      CHECK(launched);
      CHECK(outside_shapes(load_plan_for_kernel(kernel, root).kernel, hardware, workload).empty());
      ++records;
    }
  }
  CHECK(records == 79);
}

TEST_CASE("kernels of the table exist, and a table with a finding is refused") {
  for (const CallRule& rule : pytorch().rules)
    if (!rule.kernel.empty()) CHECK_NOTHROW(load_plan_for_kernel(rule.kernel, root));
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "tilescope_wrong.calls.yaml";
  std::ofstream(file) << "schema: tilescope/calls/1\nsoftware: s\ncall: c\ndtypes: [fp16]\nmasks: [none]\n"
                         "rules:\n  - {backend: b, when: q_lem > 1, launches: l}\n";
  CHECK_THROWS_WITH_AS(load_calls(file), doctest::Contains("'q_lem' is no size; did you mean 'q_len'"), InputError);
  std::filesystem::remove(file);
}

}  // namespace calls_test
