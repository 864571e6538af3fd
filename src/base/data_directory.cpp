#include "base/data_directory.h"

#include <dlfcn.h>

#include <cstdlib>

#include "base/error.h"

namespace tilescope {
namespace {

namespace fs = std::filesystem;

bool holds_data(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_directory(folder / "models" / "schedules", ignored) && fs::is_directory(folder / "hardware", ignored);
}

// The first folder above `file` for which `wanted` returns a path.
template <class Wanted>
fs::path above(const fs::path& file, Wanted wanted) {
  for (fs::path folder = file.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    if (const fs::path found = wanted(folder); !found.empty()) return found;
  return {};
}

// The same above the shared library that holds this code, if it is one, then above the program.
template <class Wanted>
fs::path above_program(Wanted wanted) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  Dl_info code{};
  if (::dladdr(reinterpret_cast<const void*>(&holds_data), &code) != 0 && code.dli_fname != nullptr) {
    const fs::path object = fs::canonical(code.dli_fname, error);
    if (!error && object != program)
      if (const fs::path found = above(object, wanted); !found.empty()) return found;
  }
  return above(program, wanted);
}

}  // namespace

fs::path data_directory() {
  if (const char* given = std::getenv("TILESCOPE_DATA")) {
    if (!holds_data(given))
      refuse("TILESCOPE_DATA", std::string("expected a folder that holds hardware/ and models/schedules/, found '") +
                                   given + "'; correct the environment variable or unset it");
    return given;
  }
  // Looked for once: commands that predict many points ask again and again.
  static const fs::path found = above_program([](const fs::path& folder) -> fs::path {
    for (const fs::path& candidate : {folder, folder / "share" / "tilescope"})
      if (holds_data(candidate)) return fs::canonical(candidate);
    return {};
  });
  if (found.empty())
    refuse("TILESCOPE_DATA",
           "no folder above the program or library holds the data (share/tilescope of an installation); "
           "install tilescope again, or set this environment variable to the folder");
  return found;
}

fs::path report_asset_directory() {
  const fs::path installed = data_directory() / "report-assets";
  std::error_code ignored;
  if (fs::is_directory(installed, ignored)) return installed;
  const fs::path built = above_program([](const fs::path& folder) -> fs::path {
    std::error_code none;
    return fs::is_directory(folder / "report-assets", none) ? folder / "report-assets" : fs::path();
  });
  return built.empty() ? installed : built;
}

fs::path file_above_program(const fs::path& name) {
  return above_program([&name](const fs::path& folder) -> fs::path {
    std::error_code none;
    return fs::is_regular_file(folder / name, none) ? folder / name : fs::path();
  });
}

}  // namespace tilescope
