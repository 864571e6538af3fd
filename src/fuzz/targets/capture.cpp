// Captures: kernels listed, then predicted. What stands beside a capture: what `describe` found in its kernels, and
// what its launches show.
#include <filesystem>

#include "base/files.h"
#include "fuzz/target.h"
#include "records/capture/capture_lines.h"

namespace tilescope::fuzz {
namespace {

void give_capture(const Input& input) {
  if (run_words({"capture", "list", input.file})) run_words({"run", "--from", input.file, "--hardware", "h100_sxm"});
}

struct LaunchShape {
  std::int64_t kernel = 0;
  std::array<std::int64_t, 3> grid;
  std::int64_t threads = 0, smem = 0;
  const char* range = "";  // states sizes; empty: nothing does, but what the launch shows
};

// Two kernels, whose code is not there: a launch with sizes and one without of the first, one of the second.
std::string captured_program() {
  capture::Capture capture;
  capture::CapturedProcess process;
  process.pid = 1, process.started = "2026-11-26T00:00:00Z", process.command = {"program"};
  process.driver = "13.0", process.cupti = "13.0.1";
  process.devices.push_back({0, "NVIDIA H100 80GB HBM3", "9.0", 132, 52428800, 85017493504});
  capture.processes.push_back(process);
  for (const char* symbol : {"one", "two"}) {
    capture::CapturedKernel kernel;
    kernel.symbol = symbol, kernel.registers = 168;
    capture.kernels.push_back(kernel);
  }
  for (const LaunchShape& shape : {LaunchShape{0, {2, 8, 8}, 384, 51288},
                                   {0, {2, 8, 8}, 384, 51288, "batch=2 heads_q=8 q_len=1024 head_dim=64"},
                                   {1, {32, 16, 1}, 128, 65536, "batch=1 heads_q=16 q_len=2048"}}) {
    capture::CapturedLaunch launch;
    launch.kernel = shape.kernel, launch.grid = shape.grid, launch.block = {shape.threads, 1, 1};
    launch.dynamic_shared_bytes = shape.smem, launch.device = 0, launch.stream = 7;
    if (shape.range[0] != '\0') launch.ranges = {shape.range};
    launch.count = 1, launch.starts_ns = {0}, launch.durations_ns = {50000};
    capture.launches.push_back(launch);
  }
  return capture::capture_lines(capture);
}

void give_capture_facts(const Input& input) {
  const std::filesystem::path capture = std::filesystem::path(input.file).parent_path() / "program.jsonl";
  if (!std::filesystem::exists(capture)) write_file(capture, captured_program());
  run_words({"run", "--from", capture.string(), "--hardware", "h100_sxm"});
}

}  // namespace

const Target capture{.name = "capture", .file_name = "capture.jsonl", .run = give_capture};

// Beside program.jsonl, where `run` looks for it.
const Target capture_facts{.name = "capture_facts", .file_name = "program.facts.jsonl", .run = give_capture_facts};

}  // namespace tilescope::fuzz
