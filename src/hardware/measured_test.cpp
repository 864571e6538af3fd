#include "hardware/measured.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "hardware/profile.h"

namespace hardware_measured_test {

using namespace tilescope;

namespace {

// A block `measured` as the only content of a document whose one source is M.
MeasuredRates read(const std::string& text) {
  const Document document = Document::parse(text, "M");
  const MeasuredRates rates = read_measured(document.root(), [](const Node& node, Dimension dimension) {
    return Sourced<double>{node["value"].quantity(dimension), node["source"].text()};
  });
  document.finish();
  return rates;
}

std::string findings(const std::string& text) {
  try {
    read(text);
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("measured values arrive in base units, by format and by count") {
  const MeasuredRates rates = read(
      "hbm:\n  copy: {value: 4.28 TB/s, source: M}\n  latency: {value: 650 ns, source: M}\n"
      "tensor:\n  mma: {fp16: {value: 6 clk, source: M}}\n"
      "  wgmma_smem: {fp16: {n64: {value: 32 clk, source: M}, n256: {value: 128 clk, source: M}}}\n"
      "sync:\n  block_barrier: {w8: {value: 20 clk, source: M}}\n"
      "power:\n  tensor: {fp16: {value: 0.4 pJ, source: M}}\n");
  CHECK(rates.hbm.copy->value == doctest::Approx(4.28e12));
  CHECK(rates.hbm.latency->value == doctest::Approx(650e-9));
  CHECK_FALSE(rates.hbm.read);
  CHECK(rates.tensor.mma.at(Format::fp16).value == 6);
  CHECK(rates.tensor.wgmma_smem.at(Format::fp16).at(256).value == 128);
  CHECK(rates.sync.block_barrier.at(8).value == 20);
  CHECK(rates.power.tensor.at(Format::fp16).value == doctest::Approx(0.4e-12));
  std::map<std::string, double> listed;
  for_each_measured(
      rates, [&](const std::string& path, Dimension, const Sourced<double>& value) { listed[path] = value.value; });
  CHECK(listed.size() == 7);
  CHECK(listed.at("tensor.wgmma_smem.fp16.n64") == 32);
  CHECK(listed.at("sync.block_barrier.w8") == 20);
}

TEST_CASE("an error in a measured block is reported with its place and with what was expected") {
  CHECK(findings("hbn: {}\n") == "M:1:1: error: hbn: unknown key; did you mean 'hbm'?");
  CHECK(findings("hbm: {raed: {value: 1 TB/s, source: M}}\n") ==
        "M:1:7: error: hbm.raed: unknown key; did you mean 'read'?");
  CHECK(findings("chains: {ffma: {value: 4, source: M}}\n") ==
        "M:1:24: error: chains.ffma.value: expected a number of clock cycles as a positive number and a unit (clk), "
        "found '4' without a unit");
  CHECK(findings("power: {ffma: {value: 1 W, source: M}}\n") ==
        "M:1:23: error: power.ffma.value: expected an energy as a positive number and a unit (J, mJ, uJ, nJ, pJ), "
        "found '1 W' with an unknown unit");
  CHECK(findings("tensor: {mma: {half: {value: 6 clk, source: M}}}\n") ==
        "M:1:22: error: tensor.mma.half: unknown number format; known: " + join(dtype_names(), ", "));
  for (const std::string key : {"64", "w64", "n064", "n0", "n", "n1025", "n1.5"}) {
    CHECK(findings("tensor: {wgmma_latency: {" + key + ": {value: 6 clk, source: M}}}\n")
              .find("expected a key such as 'n8', with a number from 1 to 1024, found '" + key + "'") !=
          std::string::npos);
  }
}

TEST_CASE("every field of the measured block has its own place") {
  MeasuredRates rates;
  std::map<std::string, int> places;
  visit_measured(rates, [&](const std::string& group, const std::string& key, Dimension, auto& field) {
    places[group + "." + key]++;
    CHECK(static_cast<const void*>(&field) >= static_cast<const void*>(&rates));
  });
  for (const auto& [path, count] : places) CHECK_MESSAGE(count == 1, path);
  CHECK(places.size() > 50);
}

}  // namespace hardware_measured_test
