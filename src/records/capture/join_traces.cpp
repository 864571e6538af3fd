#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "records/capture/capture_lines.h"
#include "records/capture/trace.h"

namespace tilescope::capture {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_cubin = std::size_t{1} << 30;
constexpr std::size_t largest_trace = std::size_t{2} << 30;

// The kernels of a cubin: it has a section ".text.SYMBOL" for each, and its name among its section names.
std::set<std::string> kernels_of(const fs::path& file) {
  std::set<std::string> symbols;
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return symbols;
  const std::string content = read_file(file, largest_cubin);
  constexpr std::string_view section = ".text.";
  for (std::size_t at = content.find(section); at != std::string::npos; at = content.find(section, at + 1))
    symbols.emplace(content.c_str() + at + section.size());
  return symbols;
}

}  // namespace

Capture join_traces(const fs::path& directory) {
  std::vector<fs::path> traces;
  std::error_code error;
  for (fs::directory_iterator walk(directory / "traces", error); !error && walk != fs::directory_iterator();
       walk.increment(error))
    if (walk->path().extension() == ".trace") traces.push_back(walk->path());
  if (error)
    throw InputError(
        Diagnostic{.file = (directory / "traces").string(), .message = "cannot be listed: " + error.message()});
  std::sort(traces.begin(), traces.end());
  Capture capture;
  std::map<std::string, std::set<std::string>> kernels;  // by hash of the module
  const HasKernel has_kernel = [&](const std::string& hash, const std::string& symbol) {
    const auto [known, added] = kernels.emplace(hash, std::set<std::string>{});
    if (added) known->second = kernels_of(directory / "cubins" / (hash + ".cubin"));
    return known->second.contains(symbol);
  };
  for (const fs::path& trace : traces) add_trace(read_file(trace, largest_trace), has_kernel, capture);
  write_file(directory / capture_file_name, capture_lines(capture));
  for (const fs::path& trace : traces) fs::remove(trace, error);
  fs::remove(directory / "traces", error);
  return capture;
}

}  // namespace tilescope::capture
