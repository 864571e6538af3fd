// Tests the built program: answers, exit statuses, full disks, closed pipes, broken records.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "cli/run_program.h"

namespace cli_test {

using namespace tilescope;
using namespace tilescope::cli;
using nlohmann::json;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines = split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

// One-row CSV without quotes: value by column.
std::string csv_value(const std::string& csv, const std::string& column) {
  const std::vector<std::string> lines = lines_of(csv);
  REQUIRE(lines.size() == 2);
  const auto columns = split(lines[0], ','), values = split(lines[1], ',');
  REQUIRE(columns.size() == values.size());
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i] == column) return values[i];
  FAIL("no column " << column);
  return {};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("help and version print their text, and a call without a command is an error") {
  CHECK(run_program("--version").out.starts_with("tilescope "));
  for (const std::string words : {"--help", "-h", "help"}) {
    const Outcome outcome = run_program(words);
    CHECK(outcome.status == 0);
    CHECK(has(outcome.out, "usage: tilescope <command> [options]"));
  }
  CHECK(run_program("").status == 2);
  for (const std::string command :
       {"hardware", "predict", "explain", "search", "compare", "sweep", "measure", "validate", "report"}) {
    CAPTURE(command);
    const Outcome outcome = run_program(command + " --help");
    CHECK(outcome.status == 0);
    CHECK(outcome.err == "");
    CHECK(outcome.out.starts_with("usage: tilescope " + command));
    CHECK(has(outcome.out, "\noptions:\n"));
    CHECK(has(outcome.out, "\nexamples:\n  tilescope " + command));
  }
}

TEST_CASE("predict's JSON has the contract's keys") {
  const Outcome outcome = run_program("predict --format json" + shape);
  REQUIRE(outcome.status == 0);
  const json object = json::parse(outcome.out);
  CHECK(object["schema"] == "tilescope/prediction/1");
  for (const char* key : {"hardware", "schedule", "kernel", "pass", "mask", "workload", "dtypes", "tile"})
    CHECK_MESSAGE(object["point"].contains(key), key);
  for (const char* key : {"batch", "heads_q", "heads_kv", "q_len", "kv_len", "d_qk", "d_v"})
    CHECK(object["point"]["workload"][key].is_number_integer());
  for (const char* key : {"q", "k", "v", "o"}) CHECK(object["point"]["dtypes"][key].is_string());
  for (const char* key : {"q", "kv"}) CHECK(object["point"]["tile"][key].is_number_integer());
  CHECK(object["feasible"] == true);
  CHECK(!object.contains("infeasible"));
  for (const char* key : {"tensor_flop", "model_flop", "fma_flop", "exp"})
    CHECK(object["work"][key].is_number_integer());
  REQUIRE(object["traffic"].size() == 4);
  const char* levels[] = {"hbm", "l2", "smem", "register"};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(object["traffic"][i]["level"] == levels[i]);
    CHECK(object["traffic"][i]["read_bytes"].is_number_integer());
    CHECK(object["traffic"][i]["write_bytes"].is_number_integer());
  }
  CHECK(object["compulsory_bytes"].is_number_integer());
  CHECK(object["lower_bound_bytes"].is_number_integer());
  for (const json& term : object["terms"])
    for (const char* key : {"boundary", "array", "direction", "bytes", "formula", "because"})
      CHECK_MESSAGE(term.contains(key), key);
  for (const json& row : object["footprint"])
    for (const char* key : {"level", "bytes", "capacity_bytes"}) CHECK_MESSAGE(row.contains(key), key);
  for (const char* key : {"seconds", "sm_cycles", "clock_hz", "bound_by", "resources", "error"})
    CHECK_MESSAGE(object["time"].contains(key), key);
  for (const char* key : {"mape", "n", "basis"}) CHECK_MESSAGE(object["time"]["error"].contains(key), key);
}

TEST_CASE("every total of predict is the sum of its terms") {
  const json object = json::parse(run_program("predict --format json" + shape).out);
  for (const json& level : object["traffic"])
    for (const std::string direction : {"read", "write"}) {
      std::int64_t sum = 0;
      for (const json& term : object["terms"])
        if (term["boundary"] == level["level"] && term["direction"] == direction)
          sum += term["bytes"].get<std::int64_t>();
      CHECK(sum == level[direction + "_bytes"].get<std::int64_t>());
    }
}

TEST_CASE("predict prints the same numbers as text, Markdown, CSV and JSON") {
  const json object = json::parse(run_program("predict --format json" + shape).out);
  const std::string csv = run_program("predict --format csv" + shape).out;
  const std::string text = run_program("predict" + shape).out,
                    markdown = run_program("predict --format md" + shape).out;
  for (const json& level : object["traffic"])
    for (const std::string direction : {"read", "write"}) {
      const std::int64_t bytes = level[direction + "_bytes"].get<std::int64_t>();
      CAPTURE(bytes);
      CHECK(csv_value(csv, level["level"].get<std::string>() + "_" + direction + "_bytes") == std::to_string(bytes));
      CHECK(has(text, with_thousands(bytes)));
      CHECK(has(markdown, "| " + with_thousands(bytes) + " |"));
    }
  for (const std::string key : {"tensor_flop", "model_flop", "exp"}) {
    const std::int64_t count = object["work"][key].get<std::int64_t>();
    CHECK(csv_value(csv, key) == std::to_string(count));
    CHECK(has(text, with_thousands(count)));
    CHECK(has(markdown, with_thousands(count)));
  }
  CHECK(std::stod(csv_value(csv, "seconds")) == doctest::Approx(object["time"]["seconds"].get<double>()));
  CHECK(csv_value(csv, "bound_by") == object["time"]["bound_by"].get<std::string>());
}

TEST_CASE("predict refuses an invalid workload") {
  check_refused("predict --hardware h200_sxm --q-len 0",
                "error: --q-len: expected an integer from 1 to 1099511627776, found '0'");
  check_refused("predict --hardware h200_sxm --q-len 128 --heads-q 7 --heads-kv 2",
                "error: workload: heads_q must be a multiple of heads_kv so that every KV head serves equally many "
                "query heads, found heads_q 7 "
                "and heads_kv 2");
  check_refused("predict --hardware h200_sxm --q-len 1048576m --batch 1m",
                "error: a count exceeds 2^63 - 1; use smaller sizes");
  check_refused("predict --hardware h200_sxm --q-len 65536m --head-dim 16 --mask window:4 --tile q=128,kv=128",
                "error: a count exceeds 2^63 - 1; use smaller sizes");
  check_refused("predict --hardware h200_sxm --q-len 128 --kernel fused_mma --schedule flash2",
                "error: --kernel: give --kernel or --schedule, not both: a kernel names its schedule");
  check_refused("predict --hardware h200_sxm --q-len 128 --head-dim 100 --kernel fused_mma",
                "error: point: kernel 'fused_mma' is not built for head_dim 100; built: 64, 128, 256");
}

TEST_CASE("a schedule file of a shipped name has its islands; another name has an assumed implementation") {
  const ScratchFolder folder;
  const std::string shipped = content_of(TILESCOPE_SOURCE_DIR "/models/schedules/flash2.yaml"),
                    file = folder / "schedule.yaml";
  const auto with = [&](const std::string& old_text, const std::string& new_text) {
    std::string text = shipped;
    const std::size_t at = text.find(old_text);
    REQUIRE(at != std::string::npos);
    write_file(file, text.replace(at, old_text.size(), new_text));
    return "predict --hardware l4 --q-len 1k --schedule " + file;
  };
  CHECK(run_program(with("pack: 1}", "pack: 1, other: 3}")).status == 0);
  CHECK(run_program(with("schedule: flash2", "schedule: flash")).out.starts_with("ideal kernel of schedule flash on"));
  check_refused(with("name: forward", "name: backward"),
                file + ": error: islands: are not those that " TILESCOPE_SOURCE_DIR
                       "/models/implementations/flash2.yaml implements");
}

TEST_CASE("a tile larger than the problem runs if it fits in memory; otherwise the error names the largest part") {
  const Outcome fits =
      run_program("predict --hardware h200_sxm --q-len 3 --head-dim 64 --tile q=128,kv=128 --format csv");
  CHECK(fits.status == 0);
  CHECK(csv_value(fits.out, "hbm_read_bytes") == "1152");  // 3 rows each of Q, K and V, 128 bytes a row, for any tile
  CHECK(csv_value(fits.out, "tensor_flop") == std::to_string(2 * 2 * 128 * 128 * 64));
  const Outcome big = run_program("predict --hardware h200_sxm --q-len 3 --head-dim 64 --tile q=4096,kv=4096");
  CHECK(big.status == 1);
  CHECK(has(big.out,
            "infeasible: smem of kernel 'forward' needs 1,572,864 bytes, 232,448 available: 1,340,416 too many; the "
            "largest part is "));
  const json object = json::parse(
      run_program("predict --hardware h200_sxm --q-len 3 --head-dim 64 --tile q=4096,kv=4096 --format json").out);
  CHECK(object["feasible"] == false);
  CHECK(object["infeasible"]["level"] == "smem");
  CHECK(object["infeasible"]["needed_bytes"] == 1572864);
  CHECK(object["infeasible"]["available_bytes"] == 232448);
}

TEST_CASE("sweep prints one line a point") {
  const std::string sweep = "sweep --hardware h200_sxm --axis q_len=1:16:x2 --axis tile_kv=32,64,128";
  const Outcome csv = run_program(sweep), objects = run_program(sweep + " --format json");
  CHECK(csv.status == 0);
  const std::vector<std::string> lines = lines_of(csv.out);
  CHECK(lines.size() == 1 + 5 * 3);
  for (const std::string& line : lines) CHECK(split(line, ',').size() == split(lines[0], ',').size());
  CHECK(lines_of(objects.out).size() == 5 * 3);
  for (const std::string& line : lines_of(objects.out)) CHECK(json::parse(line)["schema"] == "tilescope/prediction/1");
  CHECK(lines_of(run_program("sweep --hardware h200_sxm --axis q_len=10:50:+20").out).size() == 4);
}

TEST_CASE("a full disk gives a one-line error and status 2 for every command that prints") {
  const std::string full =
      "standard output: error: cannot be written: No space left on device; name another file with -o\n";
  for (const std::string words :
       {"hardware list", "hardware show l4", "predict --hardware l4 --q-len 1k", "explain --hardware l4 --q-len 1k",
        "search --hardware l4 --q-len 1k", "compare --hardware l4 --q-len 1k",
        "sweep --hardware l4 --q-len 1k --axis batch=1:2000:1 --tile first --l2 closed"}) {
    CAPTURE(words);
    const Outcome outcome = run_program(words, ">/dev/full");
    CHECK(outcome.status == 2);
    CHECK(outcome.err == full);
    check_refused(words + " -o /dev/full",
                  "/dev/full: error: cannot be written: No space left on device; choose a writable place with free "
                  "space; nothing was changed");
  }
  for (const std::string words : {"--help", "--version", "predict --help"}) {
    const Outcome outcome = run_program(words, ">/dev/full");
    CHECK(outcome.status == 2);
    CHECK(outcome.err == full);
  }
}

TEST_CASE(
    "if the reader closes the pipe early, every command ends without a message, with the status of a closed pipe") {
  for (const std::string words :
       {"sweep --hardware l4 --q-len 1k --axis batch=1:100000:1 --yes --tile first --l2 closed",
        "explain --hardware l4 --q-len 1k", "hardware list"}) {
    CAPTURE(words);
    const ScratchFolder folder;
    const std::string status = folder / "status";
    // The reader has closed the pipe before the program writes.
    const std::string command = "( sleep 0.2; timeout 120 '" TILESCOPE_BINARY "' " + words + " 2>" + (folder / "err") +
                                "; echo $? >" + status + " ) | true; while [ ! -s " + status + " ]; do sleep 0.1; done";
    CHECK(std::system(command.c_str()) == 0);
    CHECK(content_of(status) == "141\n");
    CHECK(content_of(folder / "err") == "");
  }
}

TEST_CASE("an output path that cannot be written is refused before any work, for every option that names a file") {
  const std::string line =
      "/nonexistent/x: error: cannot be written: directory '/nonexistent' does not exist; make it or "
      "choose another path";
  for (const std::string words : {"report -o", "validate -o", "validate --junit", "validate --errors",
                                  "validate --markdown", "derive attention -o", "search --hardware l4 --q-len 1k -o",
                                  "compare --hardware l4 --q-len 1k -o", "list gpus -o", "man -o"}) {
    const auto begin = std::chrono::steady_clock::now();
    check_refused(words + " /nonexistent/x", line);
    CHECK(std::chrono::steady_clock::now() - begin <
          std::chrono::seconds(2));  // without the check the first three commands would work for a minute
  }
}

TEST_CASE("-o writes the whole answer or nothing") {
  const ScratchFolder folder;
  const std::string file = folder / "answer.json";
  CHECK(run_program("predict --hardware l4 --q-len 1k --format json -o " + file).out == "");
  CHECK(json::parse(content_of(file))["point"]["hardware"] == "l4");
  CHECK(folder.entries() == 1);
  const std::string before = content_of(file);
  // The second point fails, after output has begun.
  CHECK(run_program("sweep --hardware l4 --q-len 1k --heads 4 --axis heads_kv=4,3 -o " + file).status == 2);
  CHECK(content_of(file) == before);
  CHECK(folder.entries() == 1);
  check_refused("predict --hardware l4 --q-len 1k -o " + folder.path(),
                folder.path() + ": error: is a directory, expected a file name to write to");
  check_refused("predict --hardware l4 --q-len 1k -o " + file + "/below",
                file +
                    "/below: error: cannot be written: Not a directory; choose a writable place with free space; "
                    "nothing was changed");
  CHECK(folder.entries() == 1);
}

TEST_CASE("records that are cut short, of another schema or absent are one clear line") {
  for (const std::string command : {"validate", "report"}) {
    CAPTURE(command);
    const ScratchFolder folder;
    check_refused(
        command + " --recorded " + folder.path(),
        folder.path() + ": error: holds no record (*.jsonl, *.json); measure first or name another directory");
    const std::string file = folder / "r.json";
    write_file(file, R"({"schema": "tilescope/record/1", "experi)");
    check_refused(command + " --recorded " + folder.path(),
                  file + ":1:40: error: is not complete JSON (cut short); measure the point again");
    write_file(file, R"({"schema": "tilescope/record/9"})");
    check_refused(command + " --recorded " + folder.path(),
                  file + ": error: has schema tilescope/record/9; this program reads tilescope/record/1");
    write_file(file, "");
    check_refused(command + " --recorded " + folder.path(),
                  file + ":1:1: error: is not complete JSON (cut short); measure the point again");
    check_refused(command + " --recorded " + file,
                  file + ":1:1: error: is not complete JSON (cut short); measure the point again");
    check_refused(command + " --recorded " + file + "/below", file + "/below: error: no such file; check the path");
    std::filesystem::create_symlink(file + "loop", file + "loop");
    check_refused(command + " --recorded " + file + "loop", file + "loop: error: no such file; check the path");
  }
}

TEST_CASE("measure without a GPU or without CUDA ends with status 3 and says why") {
  const ScratchFolder folder;
  const Outcome outcome =
      run_program("measure --quiet --experiment " TILESCOPE_SOURCE_DIR "/validate/experiments/quick.yaml -o " +
                  (folder / "records"));
  if (outcome.status == 0) return;  // this machine can measure
  CHECK(outcome.status == 3);
  CHECK(outcome.err.starts_with("error: "));
  CHECK(lines_of(outcome.err).size() == 1);
  CHECK(!std::filesystem::exists(folder / "records"));
}

TEST_CASE("the hardware commands list, show and check every profile") {
  const json list = json::parse(run_program("hardware list --format json").out);
  CHECK(list.size() >= 13);
  CHECK(has(run_program("hardware show h200_sxm --format md").out, "| hbm read counter |"));
  CHECK(run_program("hardware check").status == 0);
  for (const char* column : {"profile", "rule", "result", "finding"})
    CHECK(json::parse(run_program("hardware check l4 --format json").out)[0].contains(column));
}

}  // namespace cli_test
