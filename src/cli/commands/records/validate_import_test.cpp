// tilescope validate --import: numbers of other tools, or written down by hand, through the same gate as records.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/run_program.h"

namespace validate_import_test {

using namespace tilescope;
using namespace tilescope::cli;

namespace {

const std::string files = TILESCOPE_SOURCE_DIR "/src/import/testdata/";
const std::string point =
    " --point 'name=flash_fwd_kernel batch=2 heads_q=16 q_len=2k head_dim=128 mask=causal dtype=bf16'";

// Tolerances without points; sizes and bytes with units.
const std::string gate = R"(schema: tilescope/experiment/1
name: gate
hardware: h100_sxm
tolerances:
  - {quantity: traffic, level: l2, direction: read, when: {q_len_max: 32k}, tolerance: 0, slack: 128 KiB, reason: exact}
  - {quantity: seconds_cold, tolerance: 0.1, reason: one launch}
)";

std::string measured(const std::string& text, const std::string& from, const std::string& to) {
  std::string changed = text;
  const std::size_t at = changed.find(from);
  REQUIRE(at != std::string::npos);
  return changed.replace(at, from.size(), to);
}

nlohmann::json rows_of(const std::string& words) {
  const Outcome outcome = run_program("validate --format json " + words);
  CAPTURE(outcome.err);
  REQUIRE(outcome.status < 2);
  return nlohmann::json::parse(outcome.out)["rows"];
}

}  // namespace

TEST_CASE("validate takes each form of another tool's file, and compares as its records would be") {
  const ScratchFolder folder;
  write_file(folder / "gate.yaml", gate);
  for (const std::string& words :
       {files + "ncu_raw.csv" + point, files + "torch_trace.json.gz", files + "measured.yaml"}) {
    CAPTURE(words);
    const std::string records = folder / "r.jsonl", experiment = " --experiment " + (folder / "gate.yaml");
    REQUIRE(run_program("import " + words + " --records " + records).status == 0);
    const nlohmann::json rows = rows_of("--import " + words + experiment);
    CHECK(rows.size() > 0);
    const nlohmann::json recorded = rows_of("--recorded " + records + experiment);
    REQUIRE(recorded.size() == rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {  // records keep twelve digits
      for (const char* key : {"point", "quantity", "level", "verdict", "tolerance", "slack"})
        CHECK(rows[i][key] == recorded[i][key]);
      for (const char* key : {"predicted", "measured"})
        CHECK(rows[i][key].get<double>() == doctest::Approx(recorded[i][key].get<double>()).epsilon(1e-9));
    }
  }
}

TEST_CASE("validate --import is a gate: by tolerances without points, and by a baseline") {
  const ScratchFolder folder;
  write_file(folder / "gate.yaml", gate);
  const std::string text = content_of(files + "measured.yaml"), file = folder / "m.yaml";
  const std::string judged = "validate --import " + file + " --experiment " + (folder / "gate.yaml");
  const std::string stored = "validate --import " + file + " --baseline " + (folder / "b.json");
  write_file(file, text);
  CHECK(run_program(judged).status == 0);
  CHECK(run_program(stored + " --update-baseline").status == 0);
  CHECK(run_program(stored).status == 0);
  for (const auto& [from, to] : {std::pair("302004864", "317105107"), std::pair("211.6 us", "0.25 ms")}) {
    CAPTURE(to);
    write_file(file, measured(text, from, to));
    CHECK(run_program(judged).status == 1);
    CHECK(run_program(stored).status == 1);
  }
}

TEST_CASE("units of measurements are exact, several times are samples, and what is not stated is unknown") {
  const ScratchFolder folder;
  const std::string text = content_of(files + "measured.yaml"), file = folder / "m.yaml", lines = folder / "r.jsonl";
  write_file(file, measured(measured(text, "50.5 MiB", "51712 KiB"), "211.6 us", "[200 us, 0.21 ms, 210000 ns]"));
  REQUIRE(run_program("import " + file + " --records " + lines).status == 0);
  const std::string records = content_of(lines);
  const auto record = nlohmann::json::parse(records.substr(records.find('\n') + 1));
  CHECK(record["islands"][0]["counters"]["dram__bytes_read.sum"] == 50.5 * 1024 * 1024);
  CHECK(record["seconds"]["cold"] == nlohmann::json{200e-6, 210e-6, 210e-6});
  CHECK_FALSE(record.contains("passes"));
  CHECK_FALSE(record.contains("correctness"));
  CHECK(run_program("report --format md --recorded " + lines).status == 0);
  const std::string unknown = "unknown: GPU, driver, CUDA, CUPTI, date, registers, passes, flush, correctness\n";
  for (const char* command : {"import ", "validate --import "})
    CHECK(run_program(command + file).out.find(unknown) != std::string::npos);
}

TEST_CASE("measurements that are wrong are refused by their place in the file, all of them at once") {
  const ScratchFolder folder;
  const std::string text = content_of(files + "measured.yaml"), file = folder / "m.yaml";
  const std::tuple<const char*, const char*, const char*> wrong[] = {
      {"q_len: 2k", "qlen: 2k", "m.yaml: error: points[0]: qlen: no such option"},
      {"q_len: 2k", "q_len: many", "m.yaml: error: points[0]: --q-len: expected an integer"},
      {"211.6 us", "211.6", "m.yaml:7:91: error: points[0].seconds: expected"},
      {"211.6 us", "-1 us", "points[0].seconds: expected"},
      {"211.6 us", "[]", "points[0].seconds: is an empty list; expected a time"},
      {"dram__bytes_read.sum", "dram__byte_read.sum", "did you mean 'dram__bytes_read.sum'?"},
      {"dram__bytes_read.sum: 50.5 MiB", "smsp__inst_executed.sum: 50 MiB", "is not counted in bytes"},
      {"pytorch_flash2", "no_such_kernel", "m.yaml: error: kernel: no kernel or descriptor file 'no_such_kernel'"},
      {"schema: tilescope/measured/1", "schema: tilescope/record/1", "expected 'tilescope/measured/1'"},
      {"hardware: h100_sxm\n", "", "hardware: is missing"}};
  for (const auto& [from, to, message] : wrong) {
    CAPTURE(to);
    write_file(file, measured(text, from, to));
    const Outcome outcome = run_program("validate --import " + file);
    CAPTURE(outcome.err);
    CHECK(outcome.status == 2);
    CHECK(outcome.err.find(message) != std::string::npos);
    CHECK(outcome.err.find("m.yaml") != std::string::npos);
  }
  CHECK(run_program("validate --import " + file + " --recorded x").err.find("takes their place") != std::string::npos);
  CHECK(run_program("validate --point 'q_len=1k'").err.find("is for --import") != std::string::npos);
}

}  // namespace validate_import_test
