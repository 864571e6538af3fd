#include "import/import_file.h"

#include <algorithm>

namespace tilescope::imported {
namespace {

// The file's name without folders and endings, of characters that a file name may have.
std::string experiment_name(const std::filesystem::path& file) {
  std::string name = file.filename().string();
  name = name.substr(0, name.find('.'));
  std::replace_if(
      name.begin(), name.end(),
      [](char c) {
        return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-');
      },
      '_');
  return name.empty() ? "imported" : name;
}

}  // namespace

Imported import_file(const std::string& path, const Asked& asked, const std::vector<std::string>& ignored,
                     std::optional<validate::Caches> caches) {
  const ImportTables tables = load_tables(ignored);
  Imported all{read_tool_file(path, tables), {}, {}, {}};
  const bool has_calls = std::any_of(all.file.launches.begin(), all.file.launches.end(),
                                     [](const ToolLaunch& launch) { return launch.call.has_value(); });
  HardwareProfile profile;
  if (has_calls || !asked.points.empty()) {
    profile = hardware_of(all.file, asked.hardware);
    const bool is_file =
        asked.hardware && (asked.hardware->find('/') != std::string::npos || asked.hardware->ends_with(".yaml"));
    all.hardware = is_file ? *asked.hardware : profile.id;
  }
  all.runs = recognise(all.file, tables.operators, profile, asked);
  all.records = make_records(all.file, all.runs,
                             {.experiment = experiment_name(path), .hardware = all.hardware, .caches = caches});
  return all;
}

}  // namespace tilescope::imported
