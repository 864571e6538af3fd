#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <string>

#include "validate/capture/run_capture.h"

namespace tilescope::capture {
namespace {

namespace fs = std::filesystem;

// The text after "KEY:" in a file of lines; empty if there is none.
std::string entry_of(const fs::path& file, const std::string& key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with(key + ":")) {
      const std::size_t start = line.find_first_not_of(" \t", key.size() + 1);
      return start == std::string::npos ? "" : line.substr(start);
    }
  return {};
}

// CAP_SYS_ADMIN, which root has outside containers.
bool may_profile(const fs::path& root) {
  const std::string text = entry_of(root / "proc/self/status", "CapEff");
  unsigned long long capabilities = 0;
  std::from_chars(text.data(), text.data() + text.size(), capabilities, 16);
  return (capabilities >> 21 & 1) != 0;
}

// A GPU in MIG mode has instances here.
bool divided(const fs::path& root) {
  std::error_code error;
  for (fs::directory_iterator gpu(root / "proc/driver/nvidia/capabilities", error);
       !error && gpu != fs::directory_iterator(); gpu.increment(error)) {
    std::error_code inner;
    for (fs::directory_iterator entry(gpu->path() / "mig", inner); !inner && entry != fs::directory_iterator();
         entry.increment(inner))
      if (entry->path().filename().string().starts_with("gi")) return true;
  }
  return false;
}

}  // namespace

CapturePreflight capture_preflight(const fs::path& root, const char* injection, bool counters) {
  CapturePreflight preflight{.counters = counters, .notes = {}};
  if (injection != nullptr && *injection != '\0')
    preflight.notes.push_back(fmt::format(
        "CUDA_INJECTION64_PATH names {}, another tool's library, which is not loaded during the capture; capture "
        "without that tool",
        injection));
  if (!counters) return preflight;
  if (entry_of(root / "proc/driver/nvidia/params", "RmProfilingAdminOnly") == "1" && !may_profile(root)) {
    preflight.counters = false;
    preflight.notes.push_back(
        "counters are not permitted to this user (RmProfilingAdminOnly is 1), so none are read; run as root, give the "
        "container CAP_SYS_ADMIN, or load the driver with NVreg_RestrictProfilingToAdminUsers=0");
  } else if (divided(root)) {
    preflight.counters = false;
    preflight.notes.push_back(
        "a GPU here is divided into MIG instances, whose memory counters cannot be read, so no counters are read; "
        "switch MIG off (nvidia-smi -mig 0) to count");
  }
  return preflight;
}

}  // namespace tilescope::capture
