// Commands that run under capture, without CUDA: environment, exit status, directory, preflight.
#include "validate/capture/run_capture.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "records/capture/capture_lines.h"

using namespace tilescope;
using namespace tilescope::capture;

namespace {

namespace fs = std::filesystem;

class RunFolder {
 public:
  RunFolder() : path_((fs::temp_directory_path() / "tilescope-capture-XXXXXX").string()) {
    REQUIRE(mkdtemp(path_.data()) != nullptr);
  }
  ~RunFolder() { fs::remove_all(path_); }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  fs::path operator/(const std::string& name) const { return fs::path(path_) / name; }

 private:
  std::string path_;
};

int status_of(const RunFolder& folder, const std::string& script) {
  static int runs = 0;
  const CaptureRun run{.command = {"sh", "-c", script}, .directory = folder / std::to_string(++runs)};
  return run_capture(run, "/no/library.so").status;
}

std::string refusal_of(const CaptureRun& run) {
  try {
    run_capture(run, "/no/library.so");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("the command's exit status is passed on, and a signal as a shell shows it") {
  const RunFolder folder;
  CHECK(status_of(folder, "exit 0") == 0);
  CHECK(status_of(folder, "exit 7") == 7);
  CHECK(status_of(folder, "kill -INT $$") == 130);
  CHECK(status_of(folder, "kill -TERM $$") == 143);
}

TEST_CASE("an interrupt of the terminal ends the command and not the program that waits for it") {
  const RunFolder folder;
  CHECK(status_of(folder, "kill -INT $PPID; exit 5") == 5);
}

TEST_CASE("the command inherits the library and an absolute directory, and children of the command too") {
  const RunFolder folder;
  ::setenv("CUDA_INJECTION64_PATH", "/another/tool.so", 1);
  const std::string out = (folder / "seen").string();
  const CaptureRun run{.command = {"sh", "-c",
                                   "sh -c 'echo $CUDA_INJECTION64_PATH $NVTX_INJECTION64_PATH "
                                   "$TILESCOPE_CAPTURE_DIRECTORY $TILESCOPE_CAPTURE_COUNTERS' > " +
                                       out},
                       .directory = fs::relative(folder / "run"),
                       .counters = true};
  const CaptureOutcome outcome = run_capture(run, "/a/library.so");
  ::unsetenv("CUDA_INJECTION64_PATH");
  CHECK(outcome.status == 0);
  CHECK(outcome.capture.processes.empty());
  CHECK(read_file(out) == "/a/library.so /a/library.so " + fs::weakly_canonical(folder / "run").string() + " 1\n");
  CHECK(!fs::exists(folder / "run" / "traces"));
}

TEST_CASE("a command that cannot be started is refused and leaves nothing; a capture is never overwritten") {
  const RunFolder folder;
  CHECK(refusal_of({.command = {"/no/such/program"}, .directory = folder / "a"}).find("cannot be started") !=
        std::string::npos);
  CHECK(!fs::exists(folder / "a" / "traces"));
  write(folder / "b" / capture_file_name, "");
  CHECK(refusal_of({.command = {"true"}, .directory = folder / "b"}).find("holds a capture already") !=
        std::string::npos);
  write(folder / "c", "a file");
  CHECK(refusal_of({.command = {"true"}, .directory = folder / "c"}).find("cannot be made") != std::string::npos);
}

TEST_CASE("preflight names the missing permission, MIG and another tool, and goes on without counters") {
  const RunFolder root;
  const fs::path machine = root / "";
  CHECK(capture_preflight(machine, nullptr, true).counters);
  CHECK(capture_preflight(machine, nullptr, true).notes.empty());

  const CapturePreflight tool = capture_preflight(machine, "/nsys.so", true);
  CHECK(tool.counters);
  REQUIRE(tool.notes.size() == 1);
  CHECK(tool.notes[0].find("/nsys.so") != std::string::npos);

  write(root / "proc/driver/nvidia/params", "RmMsg: \"\"\nRmProfilingAdminOnly: 1\n");
  write(root / "proc/self/status", "Name:\tx\nCapEff:\t00000000a80425fb\n");
  const CapturePreflight forbidden = capture_preflight(machine, nullptr, true);
  CHECK(!forbidden.counters);
  REQUIRE(forbidden.notes.size() == 1);
  CHECK(forbidden.notes[0].find("NVreg_RestrictProfilingToAdminUsers=0") != std::string::npos);
  CHECK(capture_preflight(machine, nullptr, false).notes.empty());

  write(root / "proc/self/status", "CapEff:\t000001ffffffffff\n");
  CHECK(capture_preflight(machine, nullptr, true).counters);

  write(root / "proc/driver/nvidia/capabilities/gpu0/mig/gi3/access", "");
  const CapturePreflight divided = capture_preflight(machine, nullptr, true);
  CHECK(!divided.counters);
  REQUIRE(divided.notes.size() == 1);
  CHECK(divided.notes[0].find("MIG") != std::string::npos);
}
