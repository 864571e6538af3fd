#include "import/import_file.h"

#include <algorithm>

#include "base/data_directory.h"
#include "base/error.h"
#include "base/text.h"
#include "import/given_points.h"
#include "records/with_place.h"
#include "request/choose_kernel.h"

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

// What the file itself states, where the command line does not.
void take_stated(const ToolFile& file, Asked& asked, std::optional<validate::Caches>& caches) {
  const Stated& stated = file.stated;
  if (!stated.points.empty() && !asked.points.empty())
    refuse("--point", "is for files without points; " + file.path + " states its own");
  if (!stated.points.empty()) asked.points = stated_points(file);
  if (!asked.hardware) asked.hardware = stated.hardware;
  if (!asked.kernel) asked.kernel = stated.kernel;
  if (!caches && stated.caches) caches = parse_kind<validate::Caches>(*stated.caches);
}

// A wrong name is one finding, not one of each launch. What the file states is refused at its place there.
void check_names(const Asked& asked, const Stated& stated, const std::string& file) {
  const auto place = [&](bool of_file, const char* key) {
    return Diagnostic{.file = of_file ? file : "", .path = key};
  };
  if (asked.hardware)
    with_place(place(asked.hardware == stated.hardware, "hardware"),
               [&] { find_profile(*asked.hardware, data_directory() / "hardware"); });
  if (asked.kernel && !asks_for_choice(asked.kernel))
    with_place(place(asked.kernel == stated.kernel, "kernel"),
               [&] { load_plan_for_kernel(*asked.kernel, data_directory()); });
}

// What the records' format has and the file does not tell, in one line; empty: nothing.
std::string unknown_facts(const validate::Record& record) {
  const validate::Environment& e = record.environment;
  const std::pair<const char*, bool> facts[] = {{"GPU", e.gpu.empty()},
                                                {"driver", e.driver.empty()},
                                                {"CUDA", e.cuda.empty()},
                                                {"CUPTI", e.cupti.empty()},
                                                {"date", e.date.empty()},
                                                {"SM clock", record.source->sm_hz == 0},
                                                {"caches", record.source->caches == validate::Caches::unknown},
                                                {"registers", !record.islands.front().launch.registers_per_thread},
                                                {"passes", record.passes == 0 && !record.counters.empty()},
                                                {"flush", record.flush_bytes == 0 && !record.counters.empty()},
                                                {"correctness", !record.correctness}};
  std::vector<std::string> unknown;
  for (const auto& [name, is_unknown] : facts)
    if (is_unknown) unknown.emplace_back(name);
  return unknown.empty() ? "" : "unknown: " + join(unknown, ", ");
}

}  // namespace

Imported import_file(const std::string& path, Asked asked, const std::vector<std::string>& ignored,
                     std::optional<validate::Caches> caches) {
  const ImportTables tables = load_tables(ignored);
  Imported all{read_tool_file(path, tables), {}, {}, {}};
  take_stated(all.file, asked, caches);
  check_names(asked, all.file.stated, path);
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
  if (!all.records.empty())
    if (const std::string unknown = unknown_facts(all.records.front()); !unknown.empty())
      all.file.notes.push_back(unknown);
  return all;
}

}  // namespace tilescope::imported
