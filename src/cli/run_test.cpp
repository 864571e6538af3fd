// run --from: a capture is described, predicted and compared without a GPU and without a disassembler.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/run_program.h"
#include "records/capture/capture_lines.h"

namespace run_test {

using namespace tilescope;
using namespace tilescope::cli;
using nlohmann::json;

namespace {

const std::string described = TILESCOPE_SOURCE_DIR "/validate/described/h100.jsonl";

// A capture as a program would leave it that launched the kernels of validate/described, each launch in an NVTX range
// with its sizes, and the facts of its kernels.
struct ReplayedProgram {
  capture::Capture capture;
  std::string facts;
  std::vector<json> launches;

  explicit ReplayedProgram(std::size_t most_kernels = 1000) {
    capture::CapturedProcess process;
    process.pid = 1, process.started = "2026-11-23T00:00:00Z", process.command = {"python", "program.py"};
    process.driver = "13.0", process.cupti = "13.0.1";
    process.devices.push_back({0, "NVIDIA H100 80GB HBM3", "9.0", 132, 52428800, 85017493504});
    capture.processes.push_back(process);
    std::ifstream file(described);
    for (std::string line; std::getline(file, line) && capture.kernels.size() < most_kernels;)
      add_kernel(json::parse(line));
  }

  void add_kernel(const json& kernel) {
    const json& found = kernel.at("facts");
    const std::string hash = fmt::format("{:032x}", capture.kernels.size() + 1);
    capture.modules.push_back({hash, 1});
    capture::CapturedKernel one;
    one.symbol = found.at("kernel"), one.module = hash, one.registers = found.at("registers");
    one.static_shared_bytes = found.at("static_smem"), one.local_bytes = found.at("local_bytes");
    capture.kernels.push_back(one);
    facts += json{{"schema", "tilescope/capture-facts/1"}, {"module", hash}, {"kernel", one.symbol}, {"facts", found}}
                 .dump() +
             "\n";
    for (const json& launch : kernel.at("launches")) add_launch(launch);
  }

  void add_launch(const json& launch) {
    capture::CapturedLaunch one;
    one.kernel = static_cast<std::int64_t>(capture.kernels.size()) - 1;
    one.grid = launch.at("grid"), one.block = {launch.at("threads"), 1, 1};
    one.dynamic_shared_bytes = launch.at("dynamic_smem");
    one.device = 0, one.stream = 7, one.count = 3;
    one.starts_ns = {1000, 200000}, one.durations_ns = {100000, 100000};
    one.ranges = {"forward",
                  fmt::format("batch={} heads_q={} heads_kv={} q_len={} kv_len={} mask={}", launch.at("batch").dump(),
                              launch.at("heads_q").dump(), launch.at("heads_kv").dump(), launch.at("q_len").dump(),
                              launch.at("kv_len").dump(), launch.at("mask").get<std::string>())};
    capture::CountedLaunch counted;
    counted.group = "1", counted.read_through_bytes = 209715200;
    for (const auto& [metric, value] : launch.at("counters").items()) counted.values[metric] = value;
    one.counted.push_back(std::move(counted));
    capture.launches.push_back(std::move(one));
    launches.push_back(launch);
  }

  void write(const ScratchFolder& folder) const {
    std::ofstream(folder / "capture.jsonl") << capture::capture_lines(capture);
    std::ofstream(folder / "capture.facts.jsonl") << facts;
  }
};

double relative(const json& row, const char* key) {
  return std::abs(row.at(key).get<double>() / row.at(std::string(key) + "_counted").get<double>() - 1);
}

const char* gate_of_flop =
    "schema: tilescope/experiment/1\nname: gate\nhardware: h100_sxm\ntolerances:\n"
    "  - {quantity: tensor_flop, tolerance: 0, reason: counted exactly}\n";

}  // namespace

TEST_CASE("run replays 113 captured launches: what is predicted is what was counted") {
  const ScratchFolder folder;
  const ReplayedProgram program;
  program.write(folder);
  const Outcome outcome = run_program("run --from " + folder.path() + " --format json");
  REQUIRE(outcome.status == 0);
  const json document = json::parse(outcome.out);
  CHECK(document.at("schema") == "tilescope/run/1");
  CHECK(document.at("hardware") == "h100_sxm");
  CHECK(document.at("launches") == 3 * 113);
  const json& rows = document.at("attention");
  REQUIRE(rows.size() == 113);
  double share = 0;
  int l2_close = 0;
  for (const json& row : rows) {
    CHECK_MESSAGE(row.at("missing") == "", row.dump());
    CHECK(row.at("sizes_from") == "range");
    CHECK(row.at("caches") == "cold");
    CHECK(row.at("tensor_flop") == row.at("tensor_flop_counted"));
    CHECK(relative(row, "hbm_read_bytes") < 0.05);
    l2_close += relative(row, "l2_read_bytes") < 0.01;
    CHECK(row.at("seconds_measured").get<double>() == doctest::Approx(1e-4));
    CHECK(row.at("total_seconds").get<double>() == doctest::Approx(3e-4));
    share += row.at("share").get<double>();
  }
  CHECK(l2_close >= 104);
  CHECK(share == doctest::Approx(1));
}

TEST_CASE("run replays a program of PyTorch and Triton as it was captured: predicted is what an H100 counted") {
  const std::string program = TILESCOPE_SOURCE_DIR "/validate/captures/h100_small_program.jsonl";
  const Outcome outcome = run_program("run --from " + program + " --format json");
  REQUIRE(outcome.status == 0);
  std::size_t predicted = 0, unknown = 0;
  const json document = json::parse(outcome.out);
  for (const json& row : document.at("attention")) {
    CAPTURE(row.dump());
    CHECK(row.at("launches") == 40);
    CHECK(row.at("counted") == 27);
    CHECK(row.at("timed") == 13);
    CHECK(row.at("seconds_measured").get<double>() > 0);
    unknown += row.at("missing") != "";
    if (row.at("missing") != "") continue;
    ++predicted;
    CHECK(row.at("sizes_from") == "range");
    CHECK(row.at("tensor_flop") == row.at("tensor_flop_counted"));
    CHECK(relative(row, "l2_read_bytes") < 0.001);
    // Threads of the memory-efficient kernel read statistics of rows beside the operands, and wait for its barriers.
    const bool efficient = row.at("kernel").get<std::string>().starts_with("fmha");
    CHECK(relative(row, "smem_read_bytes") < (efficient ? 0.05 : 0.001));
    CHECK(relative(row, "hbm_read_bytes") < 0.01);
    CHECK(relative(row, "l2_write_bytes") < (efficient ? 0.001 : 0.1));  // FlashAttention-2 spills
    const double times = row.at("seconds").get<double>() / row.at("seconds_measured").get<double>();
    // The capture has no machine code: nothing tells its barriers, and which of its copies start early.
    CHECK(std::abs(times - 1) < (efficient ? 0.33 : 0.2));
  }
  CHECK(predicted == 5);
  CHECK(unknown == 0);
}

TEST_CASE("run replays PyTorch's memory-efficient kernel with the sizes that options state") {
  const Outcome outcome =
      run_program("run --from " TILESCOPE_SOURCE_DIR "/validate/captures/h100_pytorch_attention.jsonl --format json " +
                  std::string("--point 'name=64x128_rf batch=2 heads_q=16 q_len=2k head_dim=128' "
                              "--point 'name=Li128ELi128ELi64 batch=2 heads_q=16 q_len=2k'"));
  REQUIRE(outcome.status == 0);
  int predicted = 0;
  const json document = json::parse(outcome.out);
  for (const json& row : document.at("attention")) {
    if (row.at("missing") != "") continue;
    CAPTURE(row.dump());
    ++predicted;
    CHECK(row.at("tensor_flop") == row.at("tensor_flop_counted"));
    CHECK(relative(row, "l2_read_bytes") < 0.001);
    CHECK(relative(row, "hbm_read_bytes") < 0.011);
  }
  CHECK(predicted == 2);
}

TEST_CASE("run's gate passes within its tolerances, names what is outside, and fails when nothing is judged") {
  const ScratchFolder folder;
  ReplayedProgram program(2);
  program.write(folder);
  std::ofstream(folder / "gate.yaml") << gate_of_flop;
  const std::string command = "run --from " + folder.path() + " --gate " + (folder / "gate.yaml");
  const Outcome passed = run_program(command);
  CHECK(passed.status == 0);
  CHECK(passed.out.find("values within their tolerance") != std::string::npos);

  auto& values = program.capture.launches.front().counted.front().values;
  for (auto& [metric, value] : values)
    if (metric.starts_with("sm__ops_path_tensor")) value *= 2;
  program.write(folder);
  const Outcome failed = run_program(command);
  CHECK(failed.status == 1);
  CHECK(failed.out.find("outside its tolerance: fwd") != std::string::npos);
  CHECK(failed.out.find("tensor_flop: predicted") != std::string::npos);

  for (capture::CapturedLaunch& launch : program.capture.launches) launch.counted.clear();
  program.write(folder);
  const Outcome nothing = run_program(command);
  CHECK(nothing.status == 1);
  CHECK(nothing.out.find("nothing was judged") != std::string::npos);
  CHECK(run_program("run --from " + folder.path()).status == 0);  // without a gate times and predictions are an answer
}

TEST_CASE("run lists launches without sizes with what is missing, and takes sizes from --point") {
  const ScratchFolder folder;
  ReplayedProgram program(1);
  program.capture.launches.resize(1);
  program.capture.launches.front().ranges = {"step"};
  program.write(folder);
  const json& launch = program.launches.front();
  const Outcome unknown = run_program("run --from " + folder.path() + " --format json");
  CHECK(unknown.status == 1);
  const json row = json::parse(unknown.out).at("attention").at(0);
  CHECK(row.at("missing") == "sizes: nothing states them");
  CHECK(row.at("tensor_flop").is_null());
  CHECK(row.at("recognised") == "64 x 64, 4 warps, 2 stages, wgmma bf16");
  const std::string point = fmt::format(
      "--point \"name=fwd batch={} heads_q={} heads_kv={} q_len={} kv_len={}\"", launch.at("batch").dump(),
      launch.at("heads_q").dump(), launch.at("heads_kv").dump(), launch.at("q_len").dump(), launch.at("kv_len").dump());
  const Outcome stated = run_program("run --from " + folder.path() + " --format json " + point);
  CHECK(stated.status == 0);
  CHECK(json::parse(stated.out).at("attention").at(0).at("sizes_from") == "option");
  const Outcome other =
      run_program("run --from " + folder.path() + " --format json --point \"name=fwd batch=3 q_len=77\"");
  CHECK(other.status == 1);
  CHECK(json::parse(other.out).at("attention").at(0).at("missing").get<std::string>().starts_with("block_order: "));
}

TEST_CASE("run takes what import takes: a PyTorch trace has times alone") {
  const std::string trace = TILESCOPE_SOURCE_DIR "/src/import/testdata/";
  const Outcome outcome = run_program("run --from " + trace + "torch_trace.json.gz --format json");
  REQUIRE(outcome.status == 0);
  const json rows = json::parse(outcome.out).at("attention");
  bool predicted = false;
  for (const json& row : rows) {
    if (row.at("tensor_flop").is_null()) continue;
    predicted = true;
    CHECK(row.at("sizes_from") == "call");
    CHECK(row.at("tensor_flop_counted").is_null());
    CHECK(row.at("seconds_measured").get<double>() > 0);
  }
  CHECK(predicted);
}

TEST_CASE("run refuses what it does not understand") {
  const char* incomplete =
      "error: run: expected a command after --, as in tilescope run -- python train.py, or --from with a capture, "
      "records, or a file that import reads";
  check_refused("run", incomplete);
  check_refused("run --from x -- true", incomplete);
  const ScratchFolder folder;
  ReplayedProgram(1).write(folder);
  std::ofstream(folder / "capture.facts.jsonl") << "{\"schema\":\"tilescope/other/1\"}\n";
  CHECK(run_program("run --from " + folder.path()).err.find("expected an object of schema tilescope/capture-facts/1") !=
        std::string::npos);
}

TEST_CASE("run makes the folder that keeps the descriptors, and predict reads one of them") {
  const ScratchFolder folder;
  const std::string capture = TILESCOPE_SOURCE_DIR "/validate/captures/h100_small_program.jsonl";
  REQUIRE(run_program("run --from " + capture + " --descriptors " + (folder / "deep/mine")).status == 0);
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(folder / "deep/mine")) files.push_back(file.path());
  REQUIRE(files.size() == 5);
  for (const auto& file : files)
    CHECK(run_program("explain --hardware h200_sxm --batch 2 --heads 16 --q-len 2k --head-dim 64 --kernel " +
                      file.string())
              .err.find("no kernel or descriptor") == std::string::npos);

  const std::string taken = folder / "taken";
  write_file(taken, "");
  const Outcome refused = run_program("run --from " + capture + " --descriptors " + taken + "/mine");
  CHECK(refused.status == 2);
  CHECK(refused.err.find(taken) != std::string::npos);
}

}  // namespace run_test
