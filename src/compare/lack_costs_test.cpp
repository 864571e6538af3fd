#include "compare/lack_costs.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "hardware/derived.h"

namespace lack_costs_test {

using namespace tilescope;

namespace {

const std::filesystem::path source_folder = TILESCOPE_SOURCE_DIR;

const LackCost& cost_of(const std::vector<LackCost>& costs, const std::string& entry) {
  return *std::find_if(costs.begin(), costs.end(), [&](const LackCost& cost) { return cost.entry == entry; });
}

}  // namespace

TEST_CASE("an entry costs what its rule changes on the measured GPUs") {
  const validate::Experiment decode = validate::parse_experiment(
      "schema: tilescope/experiment/1\nname: one\nhardware: h200_sxm\nrepeats: {cold: 5, steady: 20}\npoints:\n"
      "  - {kernel: split_kv, tiles: [{q: 16, kv: 64, warps: 4, stages: 3}], dtype: [fp16], batch: [4], heads_q: [32], "
      "heads_kv: [8], q_len: [1], kv_len: [4096], head_dim: [128], mask: [none]}\n"
      "tolerances:\n  - {quantity: seconds, tolerance: report, reason: \"not judged\"}\n",
      "one.yaml");
  const std::vector<LackCost> costs = lack_costs(source_folder, decode);
  for (const LackCost& cost : costs) {
    CHECK(cost.points == 2);  // the H200 and the H100
    CHECK(cost.mean <= cost.worst);
    CHECK(cost.worst < 0.5);
  }
  CHECK(cost_of(costs, "measured.hbm.read").mean > 0);  // decoding reads memory
  CHECK(cost_of(costs, "measured.hbm.copy").worst == 0);
  CHECK(cost_of(costs, every_entry).mean > 0);
}

TEST_CASE("every entry that has a rule has a stored cost") {
  const auto stored = read_lack_costs(source_folder / "validate" / "lack_costs.json");
  for (const DerivedRule& rule : derived_rules()) CHECK_MESSAGE(stored.contains(rule.entry), rule.entry);
  CHECK(stored.at(every_entry).mean > 0);
  CHECK(read_lack_costs(source_folder / "validate" / "no_such_file.json").empty());
  CHECK_THROWS(read_lack_costs(source_folder / "validate" / "predictions.sha256"));
}

TEST_CASE("a list of costs with a value that no cost has is refused by its row") {
  const TemporaryDirectory folder("tilescope-costs");
  const std::filesystem::path file = folder.path() / "costs.json";
  const auto load = [&](const std::string& schema, const std::string& row) {
    write_file(file, R"({"schema": ")" + schema + R"(", "rows": [)" + row + "]}");
    return read_lack_costs(file);
  };
  const std::string schema = "tilescope/lack-costs/1";
  CHECK(load(schema, R"({"entry": "a", "points": 1, "mean": 0.1, "worst": 1})").at("a").worst == 1);
  for (const char* wrong : {R"({"entry": "a", "points": 0, "mean": 0.1, "worst": 1})",
                            R"({"entry": "a", "points": 1, "mean": -1, "worst": 1})",
                            R"({"entry": "a", "points": 1, "mean": 1e999, "worst": 1})",
                            R"({"entry": 1, "points": 1, "mean": 0, "worst": 0})", "[]"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(load(schema, wrong), InputError);
  }
  CHECK_THROWS_WITH(load("tilescope/errors/1", ""), doctest::Contains("schema: expected tilescope/lack-costs/1"));
}

}  // namespace lack_costs_test
