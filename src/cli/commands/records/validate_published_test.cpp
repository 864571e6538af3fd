// validate --published as a user runs it.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/run_program.h"

namespace tilescope::cli::validate_published_test {
namespace {

std::string table(const std::string& bars) {
  return "schema: tilescope/published/1\nname: two\nsource: a paper\nrights: quoted\nhardware: h200_sxm\nrows: "
         "two.csv\n"
         "every_row: {kernel: fused_mma, batch: 1, heads_q: 16, head_dim: 128}\nbars: " +
         bars + "\n";
}

}  // namespace

TEST_CASE(
    "validate --published prints a line a table, every row as CSV and JSON, and answers no when a bar is not held") {
  const ScratchFolder folder;
  std::ofstream(folder / "two.csv") << "q_len,ms\n1024,0.04\n4096,0.5\n";
  std::ofstream(folder / "two.yaml") << table("{mape: 5, rank: 1}");
  const std::string command = "validate --published " + folder.path();
  const Outcome text = run_program(command);
  CHECK(text.status == 0);
  CHECK(text.err == "");
  CHECK(text.out.find("500 %, 1: held") != std::string::npos);
  const Outcome csv = run_program(command + " --format csv");
  CHECK(
      csv.out.starts_with("table,hardware,point,measured_seconds,predicted_seconds,ratio,roofline_seconds,fits\n"
                          "two,h200_sxm,fused_mma-fp16-b1-hq16-hkv16-q1024-kv1024-d128-none,4e-05,"));
  const auto json = nlohmann::json::parse(run_program(command + " --format json").out);
  CHECK(json["schema"] == "tilescope/published-comparison/1");
  REQUIRE(json["tables"][0]["rows"].size() == 2);
  CHECK(json["tables"][0]["model"]["rank"] == 1);
  CHECK(json["tables"][0]["passed"] == true);
  std::ofstream(folder / "two.yaml") << table("{mape: 0.00001}");
  const Outcome missed = run_program(command);
  CHECK(missed.status == 1);
  CHECK(missed.out.find("NOT HELD") != std::string::npos);
}

TEST_CASE("--markdown writes what --format md prints, beside another answer") {
  const ScratchFolder folder;
  std::ofstream(folder / "two.csv") << "q_len,ms\n1024,0.04\n4096,0.5\n";
  std::ofstream(folder / "two.yaml") << table("{mape: 5, rank: 1}");
  for (const std::string& command :
       {"validate --published " + folder.path(),
        std::string("validate --recorded " TILESCOPE_SOURCE_DIR "/validate/records/h200/third_party.jsonl")}) {
    CAPTURE(command);
    const Outcome json = run_program(command + " --format json --markdown " + (folder / "summary.md"));
    CHECK(nlohmann::json::parse(json.out).contains("schema"));
    const std::string printed = run_program(command + " --format md").out;
    CHECK(printed.find("| --- |") != std::string::npos);
    CHECK(content_of(folder / "summary.md") == printed);
  }
}

TEST_CASE("validate --published refuses a directory without tables and options that only records have") {
  const ScratchFolder folder;
  check_refused("validate --published " + folder.path(),
                folder.path() + ": error: holds no table (*.yaml); give a directory like validate/published");
  check_refused("validate --published " + folder.path() + " --recorded x",
                "error: --recorded: applies to records, not to --published; leave out one of them");
}

}  // namespace tilescope::cli::validate_published_test
