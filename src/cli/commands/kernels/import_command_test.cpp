// tilescope import, as a user runs it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/run_program.h"

namespace import_command_test {

using namespace tilescope;
using namespace tilescope::cli;

namespace {

const std::string files = TILESCOPE_SOURCE_DIR "/src/import/testdata/";
const std::string sizes =
    " --point 'name=flash_fwd_kernel batch=2 heads_q=16 q_len=2k head_dim=128 mask=causal dtype=bf16'";

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Bytes of L2 within 1 %, a gate for counters of ncu.
const std::string gate = R"(schema: tilescope/experiment/1
name: gate
hardware: h100_sxm
tolerances:
  - {quantity: traffic, level: l2, direction: read, tolerance: 0.01, reason: counted exactly}
  - {quantity: seconds_cold, tolerance: report, reason: clock of the profiler}
)";

}  // namespace

TEST_CASE("import prints what a trace holds, and predicted beside measured") {
  const Outcome outcome = run_program("import " + files + "torch_trace.json.gz --validate --format json");
  CHECK(outcome.status == 0);
  const auto json = nlohmann::json::parse(outcome.out);
  CHECK(json["schema"] == "tilescope/import/1");
  CHECK(json["hardware"] == "h100_sxm");
  CHECK(json["points"] == 10);
  double share = 0;
  for (const auto& row : json["found"]) share += row["share"].get<double>();
  CHECK(share == doctest::Approx(1));
  REQUIRE(json["comparison"]["rows"].size() == 10);
  for (const auto& row : json["comparison"]["rows"]) {
    CHECK(row["quantity"] == "seconds_program");
    CHECK(row["ratio"].get<double>() == doctest::Approx(1).epsilon(0.25));
  }
}

TEST_CASE("records of ncu pass a gate, and fail it when one number moves by 5 %") {
  const ScratchFolder folder;
  write_file(folder / "gate.yaml", gate);
  const std::string experiment = " --experiment " + (folder / "gate.yaml");
  CHECK(run_program("import " + files + "ncu_raw.csv" + sizes + experiment).status == 0);
  CHECK(run_program("import " + files + "ncu_raw.csv" + sizes + " --records " + (folder / "r.jsonl")).status == 0);
  CHECK(run_program("validate --recorded " + (folder / "r.jsonl") + experiment).status == 0);
  const Outcome ungated = run_program("validate --recorded " + (folder / "r.jsonl"));
  CHECK(ungated.status == 1);
  CHECK(contains(ungated.out, "no row has a tolerance"));
  std::string text = content_of(files + "ncu_raw.csv");
  for (std::size_t at = 0; (at = text.find("\"302,0", at)) != std::string::npos;) text.replace(at, 6, "\"317,1");
  write_file(folder / "moved.csv", text);
  const Outcome moved = run_program("import " + (folder / "moved.csv") + sizes + experiment);
  CHECK(moved.status == 1);
  CHECK(contains(moved.out, "fail"));
}

TEST_CASE("a metric that is unknown is an error with its line and the nearest name, unless it is left out") {
  const ScratchFolder folder;
  std::string text = content_of(files + "ncu_long.csv");
  text.replace(text.find("dram__bytes_read.sum"), 20, "dram__byte_read.sum");
  write_file(folder / "n.csv", text);
  const std::string command = "import " + (folder / "n.csv") + " --hardware h100_sxm" +
                              " --point 'batch=2 heads_q=16 q_len=2k head_dim=128 mask=causal dtype=bf16'";
  const Outcome outcome = run_program(command);
  CHECK(outcome.status == 2);
  CHECK(outcome.err == (folder / "n.csv") +
                           ":4: error: 'dram__byte_read.sum': is no metric that is known; did you mean "
                           "'dram__bytes_read.sum'?; --ignore leaves it out\n");
  CHECK(run_program(command + " --ignore 'dram__byte_*'").status == 0);
}

TEST_CASE("a file of which nothing is recognised is shown, ends with 1 and gives no records") {
  const ScratchFolder folder;
  const Outcome outcome = run_program("import " + files + "ncu_long.csv");
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "give --point"));
  CHECK(run_program("import " + files + "ncu_long.csv --records " + (folder / "r.jsonl")).status == 2);
  CHECK(folder.entries() == 0);
}

TEST_CASE("bytes that ncu counted of five kernels on an H100 are the predicted ones") {
  const std::string causal = " q_len=2k head_dim=128 mask=causal dtype=bf16";
  std::string command = "import " + files + "ncu_raw.csv --validate --format json";
  for (const std::string& point :
       {"name=flash_fwd_kernel batch=2 heads_q=16" + causal, "name=flash_bwd pass=backward batch=2 heads_q=16" + causal,
        std::string("name=splitkv batch=4 heads_q=32 heads_kv=8 q_len=1 kv_len=8k head_dim=128 dtype=bf16"),
        std::string("name=fmha batch=2 heads_q=16 q_len=2k head_dim=64 mask=causal dtype=bf16"),
        std::string("name=cudnn batch=2 heads_q=32 heads_kv=8 q_len=4k head_dim=128 mask=causal dtype=bf16")})
    command += " --point '" + point + "'";
  const Outcome outcome = run_program(command);
  CHECK(outcome.status == 0);
  const auto json = nlohmann::json::parse(outcome.out);
  CHECK(json["points"] == 5);
  int checked = 0;
  for (const auto& row : json["comparison"]["rows"]) {
    const std::string quantity = row["quantity"], level = row["level"].is_string() ? row["level"] : "";
    const bool flop = quantity.starts_with("tensor_flop"), read = quantity == "traffic read";
    if (!flop && !(read && (level == "l2" || level == "hbm"))) continue;
    CAPTURE(row.dump());
    CHECK(row["ratio"].get<double>() == doctest::Approx(1).epsilon(level == "hbm" ? 0.06 : 0.001));
    ++checked;
  }
  CHECK(checked == 15);
}

TEST_CASE("a point without a name is refused where the file has several attention kernels") {
  const Outcome outcome =
      run_program("import " + files + "ncu_raw.csv --point 'batch=2 heads_q=16 q_len=2k head_dim=128 dtype=bf16'");
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.err, "covers 5 different kernels"));
}

}  // namespace import_command_test
