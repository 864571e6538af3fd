// All records below a directory, in both forms.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "records/few_findings.h"
#include "records/record_lines.h"

namespace tilescope::validate {
namespace {

namespace fs = std::filesystem;

// Measurements of a GPU's properties, which `hardware measure` writes, may lie among the records.
bool of_hardware(const fs::path& file) {
  char head[80] = "";
  std::ifstream(file).read(head, sizeof head - 1);
  return std::string_view(head).find("tilescope/hardware-record/") != std::string_view::npos;
}

bool is_record_file(const fs::path& file) {
  return file.extension() == ".jsonl" || (file.extension() == ".json" && !of_hardware(file));
}

std::vector<fs::path> record_files(const fs::path& place) {
  std::error_code error;
  if (!fs::is_directory(place, error)) return {place};  // or a pipe, or nothing: who reads it says so
  std::vector<fs::path> files;
  fs::recursive_directory_iterator walk(place, error);
  for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
    std::error_code unreadable;  // a link that leads nowhere is no record
    if (walk->is_regular_file(unreadable) && is_record_file(walk->path())) files.push_back(walk->path());
  }
  if (error) throw InputError(Diagnostic{.file = place.string(), .message = "cannot be listed: " + error.message()});
  std::sort(files.begin(), files.end());
  return files;
}

// A point may be measured again and recorded in another folder. A record of the same GPU, time and samples is a copy.
std::size_t run_of(const Record& record) {
  const Environment& environment = record.environment;
  return std::hash<std::string>()(
      fmt::format("{} {} {} {} {} {} {} {} {} {}", record.experiment, point_id(record.point), environment.hardware,
                  environment.gpu, environment.driver, environment.date, record.source ? record.source->file : "",
                  fmt::join(record.cold_seconds, ","), fmt::join(record.steady_seconds, ","),
                  fmt::join(record.program_seconds, ",")));
}

}  // namespace

void for_each_record(const fs::path& place, const std::function<void(Record&&)>& use) {
  const std::vector<fs::path> files = record_files(place);
  if (files.empty()) {
    throw InputError(
        Diagnostic{.file = place.string(),
                   .message = "holds no record (*.jsonl, *.json); measure first or name another directory"});
  }
  std::vector<Diagnostic> findings;
  std::map<std::string, std::string> first_place;  // by folder, experiment and point
  std::map<std::size_t, std::string> first_copy;   // by what tells runs of a point apart
  for (const fs::path& file : files) {
    std::error_code none;  // a pipe holds lines
    const bool lines = file.extension() == ".jsonl" || fs::is_character_file(file, none) || fs::is_fifo(file, none);
    const auto use_once = [&](Record&& record) {
      // An experiment's records stand in one file, or in a folder of its name beside that file.
      const fs::path folder = lines ? file.parent_path() : file.parent_path().parent_path();
      const std::string key = fmt::format("{} {} {}", folder.string(), record.experiment, point_id(record.point));
      const auto [first, is_new] = first_place.emplace(key, record.file);
      const auto [copy, is_own] = first_copy.emplace(run_of(record), record.file);
      if (is_new && is_own) use(std::move(record));
      else
        findings.push_back({.file = record.file,
                            .path = "point",
                            .message = fmt::format("is recorded in {} too; remove one of the two",
                                                   is_new ? copy->second : first->second)});
    };
    try {
      if (lines) read_lines(file, use_once, findings);
      else use_once(read_record(file));
    } catch (const InputError& problem) {
      findings.insert(findings.end(), problem.diagnostics().begin(), problem.diagnostics().end());
    }
  }
  if (!findings.empty()) throw InputError(few_findings(std::move(findings)));
  if (first_place.empty()) {
    throw InputError(Diagnostic{.file = place.string(), .message = "holds no record; measure first"});
  }
}

std::vector<Record> read_records(const fs::path& place) {
  std::vector<Record> records;
  for_each_record(place, [&](Record&& record) { records.push_back(std::move(record)); });
  return records;
}

}  // namespace tilescope::validate
