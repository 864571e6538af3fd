#include "validate/capture/run_capture.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "base/data_directory.h"
#include "base/error.h"
#include "records/capture/capture_lines.h"
#include "validate/measure/counters/counters.h"

namespace tilescope::capture {
namespace {

namespace fs = std::filesystem;

constexpr const char* library_name = "libtilescope_capture.so";
constexpr const char* hook_name = "libtilescope_launch_hook.so";  // beside it

volatile std::sig_atomic_t running_command = 0;

void pass_on(int signal) {
  if (running_command != 0) ::kill(running_command, signal);
}

// While the command runs, an interrupt of the terminal ends it and not this program, and a request to end is passed on.
class SignalsOfCommand {
 public:
  SignalsOfCommand() {
    for (int i = 0; i < 4; ++i) {
      struct sigaction action {};
      action.sa_handler = i < 2 ? SIG_IGN : pass_on;
      ::sigaction(signals[i], &action, &before_[i]);
    }
  }
  ~SignalsOfCommand() {
    for (int i = 0; i < 4; ++i) ::sigaction(signals[i], &before_[i], nullptr);
  }
  SignalsOfCommand(const SignalsOfCommand&) = delete;
  SignalsOfCommand& operator=(const SignalsOfCommand&) = delete;

  static constexpr int signals[4] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

 private:
  struct sigaction before_[4]{};
};

std::vector<std::string> environment_of(const CaptureRun& run, const fs::path& library) {
  std::vector<std::pair<std::string, std::string>> added{
      {"CUDA_INJECTION64_PATH", library.string()},
      {"NVTX_INJECTION64_PATH", library.string()},
      {"TILESCOPE_CAPTURE_DIRECTORY", fs::absolute(run.directory).lexically_normal().string()},
      {"TILESCOPE_CAPTURE_COUNTERS", run.counters ? "1" : "0"},
      {"TILESCOPE_CAPTURE_COLD", run.cold ? "1" : "0"},
      {"TILESCOPE_CAPTURE_DURATIONS", run.durations}};
  if (const fs::path hook = library.parent_path() / hook_name; run.hooks && fs::exists(hook)) {
    const char* before = std::getenv("LD_PRELOAD");
    added.emplace_back("LD_PRELOAD",
                       (before != nullptr && *before != 0 ? std::string(before) + ":" : std::string()) + hook.string());
  }
  std::vector<std::string> list;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    bool replaced = false;
    for (const auto& [name, value] : added) replaced = replaced || std::string_view(*entry).starts_with(name + "=");
    if (!replaced) list.emplace_back(*entry);
  }
  for (const auto& [name, value] : added) list.push_back(name + "=" + value);
  return list;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

pid_t start(const CaptureRun& run, const fs::path& library) {
  std::vector<std::string> words = run.command, environment = environment_of(run, library);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t defaults;
  ::sigemptyset(&defaults);
  for (const int signal : SignalsOfCommand::signals) ::sigaddset(&defaults, signal);
  ::sigaddset(&defaults, SIGPIPE);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, words[0].c_str(), nullptr, &attributes, pointers(words).data(),
                                   pointers(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) refuse(run.command[0], fmt::format("cannot be started: {}", std::strerror(error)));
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void prepare(const fs::path& directory) {
  if (fs::exists(directory / capture_file_name) || fs::exists(directory / "traces"))
    refuse("--output",
           fmt::format("{} holds a capture already; name another directory with -o, or remove it", directory.string()));
  std::error_code error;
  fs::create_directories(directory / "traces", error);
  if (!error) fs::create_directories(directory / "cubins", error);
  if (error) refuse("--output", fmt::format("{} cannot be made: {}", directory.string(), error.message()));
}

}  // namespace

fs::path capture_library() {
  if (!validate::cupti_version())
    throw DeviceError(
        "this tilescope was built without CUDA and CUPTI, so it cannot capture; install the CUDA toolkit (12.6 or "
        "newer) and build with -DTILESCOPE_CUDA=ON");
  const fs::path file = file_above_program(fs::path("lib") / "tilescope" / library_name);
  if (file.empty())
    throw DeviceError(
        fmt::format("{} is in no lib/tilescope above the program; install tilescope again", library_name));
  return file;
}

CaptureOutcome run_capture(const CaptureRun& run, const fs::path& library) {
  prepare(run.directory);
  CaptureOutcome outcome;
  try {
    const SignalsOfCommand signals;
    const pid_t child = start(run, library);
    running_command = child;
    outcome.status = wait_for(child);
    running_command = 0;
  } catch (const InputError&) {
    std::error_code ignored;
    fs::remove(run.directory / "traces", ignored);
    fs::remove(run.directory / "cubins", ignored);
    throw;
  }
  outcome.capture = join_traces(run.directory);
  return outcome;
}

}  // namespace tilescope::capture
