// capture: its command line, and list.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/run_program.h"

namespace capture_test {

using namespace tilescope::cli;

namespace {
const std::string bundled = TILESCOPE_SOURCE_DIR "/validate/captures/h100_tensor_maps.jsonl";
}  // namespace

TEST_CASE("capture list prints the kernels of a capture by their share of time") {
  const auto rows = nlohmann::json::parse(run_program("capture list " + bundled + " --format json").out);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].at("kernel") == "uses_map");
  CHECK(rows[0].at("tensor_maps") == 1);
  CHECK(rows[0].at("cluster") == "2 x 1 x 1");
  CHECK(rows[0].at("ranges") == nlohmann::json{"outer", "inner"});
  CHECK(rows[0].at("share_percent").get<double>() + rows[1].at("share_percent").get<double>() == doctest::Approx(100));
  const ScratchFolder folder;
  CHECK(run_program("capture list " + bundled + " --format csv -o " + (folder / "x.csv")).status == 0);
  CHECK(content_of(folder / "x.csv").starts_with("kernel,share"));
}

TEST_CASE("capture refuses what it does not understand") {
  check_refused("capture",
                "error: capture: is incomplete: name the command to run after --, as in tilescope capture -- python "
                "train.py");
  check_refused("capture --",
                "error: capture: is incomplete: name the command to run after --, as in tilescope capture "
                "-- python train.py");
  check_refused("capture list", "error: capture list: expected one capture: a file or a directory");
  check_refused("capture list " + bundled + " --counters",
                "error: --counters: is an option of capture -- COMMAND; leave it out");
  check_refused("capture python -- train.py", "error: python: unexpected word before --; the command stands after it");
  check_refused("capture --format json -- true", "error: --format: is an option of capture list; leave it out");
  check_refused("capture --countres -- true",
                "error: --countres: 'capture' has no such option; did you mean '--counters'?");
  check_refused("capture list /no/such/file", "/no/such/file: error: no such file; check the path");
}

TEST_CASE("captures without a launch, and with modules that are missing or cut off, are told apart") {
  const ScratchFolder folder;
  const auto write = [&](const std::string& text) {
    std::ofstream(std::filesystem::path(folder / "capture.jsonl"), std::ios::binary) << text;
  };
  std::string text, line, process;
  for (std::ifstream file(bundled); std::getline(file, line); text += line + "\n")
    if (line.find("\"line\":\"process\"") != std::string::npos) process = line + "\n";
  const std::string& place = folder.path();
  check_refused("capture list " + place,
                place +
                    "/capture.jsonl: error: no such file; check the path; a capture is a directory "
                    "that tilescope capture -o DIRECTORY -- COMMAND has written");
  write(process);
  CHECK(run_program("capture list " + place).err == "note: the program launched no kernel\n");
  CHECK(run_program("run --from " + place).out.find("the program launched no kernel") != std::string::npos);
  for (const char* command : {"inspect ", "describe "})
    check_refused(command + place, place + ": error: holds no launch: the program launched no kernel");
  write(text);
  const Outcome missing = run_program("inspect " + place);
  CHECK(missing.status == 2);
  CHECK(
      missing.err.find("the machine code of this module is not there: copy the capture's directory with its cubins") !=
      std::string::npos);
}

TEST_CASE("words after -- are the command's own, and a build without CUDA cannot run it") {
  const ScratchFolder folder;
  const Outcome outcome = run_program("capture -o " + (folder / "run") + " -- sh -c 'echo ran' --help --format -o");
  if (run_program("--version").out.find("built without CUDA") == std::string::npos) {
    CHECK(outcome.out == "ran\n");
    CHECK(outcome.status == 0);
    return;
  }
  CHECK(outcome.status == 3);
  CHECK(outcome.out == "");
  CHECK(outcome.err.starts_with("error: this tilescope was built without CUDA and CUPTI, so it cannot capture"));
}

}  // namespace capture_test
