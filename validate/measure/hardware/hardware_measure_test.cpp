#include "validate/measure/hardware/hardware_measure.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "hardware/profile.h"
#include "validate/measure/hardware/bare_process.h"

using namespace tilescope;
using namespace tilescope::validate;

namespace {

HardwareProfile shipped(const std::string& id) {
  return load_profile(std::string(TILESCOPE_SOURCE_DIR) + "/hardware/" + id + ".yaml");
}

GpuAtHand h200() {
  GpuAtHand gpu;
  gpu.environment.gpu = "NVIDIA H200";
  gpu.compute_capability = "9.0";
  gpu.units = 132;
  gpu.memory_bytes = 150e9;
  return gpu;
}

}  // namespace

TEST_CASE("a value is the median of its samples") {
  CHECK(median_of({3, 1, 2}) == 2);
  CHECK(median_of({4, 1, 2, 3}) == 2.5);
  CHECK(median_of({}) == 0);
  Microbench bench(132, true, true);
  bench.add("hbm.read", {4e12, 4.2e12, 4.1e12}, "note");
  REQUIRE(bench.find("hbm.read") != nullptr);
  CHECK(bench.find("hbm.read")->value == 4.1e12);
  CHECK(bench.find("hbm.write") == nullptr);
}

TEST_CASE("notes have whole numbers") {
  CHECK(whole(1096.6) == "1097");
  CHECK(whole(0) == "0");
}

TEST_CASE("work in a separate process returns its numbers, or none if it fails") {
  CHECK(in_bare_process([] { return std::vector<double>{3.5, -1, 1e-6}; }) == std::vector<double>{3.5, -1, 1e-6});
  CHECK(in_bare_process([] { return std::vector<double>{}; }).empty());
  CHECK(in_bare_process([]() -> std::vector<double> { throw std::runtime_error("no GPU"); }).empty());
}

TEST_CASE("GPUs are distinguished by compute capability, number of SMs and memory") {
  CHECK(difference_from(h200(), shipped("h200_sxm")) == "");
  CHECK(difference_from(h200(), shipped("h100_sxm")) == "139.7 GiB of memory instead of 74.51 GiB");
  CHECK(difference_from(h200(), shipped("h100_pcie")) == "132 units instead of 114");
  CHECK(difference_from(h200(), shipped("a100_sxm_80")) == "compute capability 9.0 instead of 8.0");
}

TEST_CASE("the record of a hardware measurement is JSON with every sample") {
  HardwareMeasurement measurement;
  measurement.values.push_back({"hbm.read", 4.1e12, {4e12, 4.1e12, 4.23456789e12}, "how"});
  measurement.curves.push_back({"misses", "bytes", "fraction", {{1024, 0.25}}});
  measurement.skipped.emplace_back("power: none");
  measurement.seconds = 12.34;
  const nlohmann::json json = nlohmann::json::parse(hardware_record_json(h200(), measurement));
  CHECK(json.at("schema") == hardware_record_schema);
  CHECK(json.at("environment").at("gpu") == "NVIDIA H200");
  CHECK(json.at("values").at(0).at("samples") == nlohmann::json({4e12, 4.1e12, 4.23457e12}));
  CHECK(json.at("curves").at(0).at("points") == nlohmann::json({{1024.0, 0.25}}));
  CHECK(json.at("seconds") == 12.3);
}
