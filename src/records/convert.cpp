#include "records/convert.h"

#include <map>

#include "base/error.h"
#include "records/few_findings.h"
#include "records/record_lines.h"

namespace tilescope::validate {
namespace {

// The file that a record was read from: `record.file` of a line is "FILE:LINE".
std::filesystem::path source_of(const Record& record) {
  const std::size_t lines = record.file.rfind(".jsonl:");
  return lines == std::string::npos ? record.file : record.file.substr(0, lines + 6);
}

// The folder of its experiment's file or folder, relative to `from`.
std::filesystem::path folder_of(const Record& record, const std::filesystem::path& from) {
  const std::filesystem::path source = source_of(record);
  std::error_code none;
  if (source == from || !std::filesystem::is_directory(from, none)) return {};
  std::filesystem::path folder = source.lexically_relative(from).parent_path();
  if (source.extension() == ".json" && folder.filename() == record.experiment) folder = folder.parent_path();
  return folder;
}

}  // namespace

Conversion convert_records(const std::filesystem::path& from, const std::filesystem::path& to, RecordForm form) {
  std::map<std::filesystem::path, std::vector<Record>> experiments;  // by the file of lines
  for_each_record(from, [&](Record&& record) {
    const std::filesystem::path file = to / folder_of(record, from) / (record.experiment + ".jsonl");
    experiments[file].push_back(std::move(record));
  });
  std::map<std::filesystem::path, std::string> texts;
  Conversion done;
  for (const auto& [file, records] : experiments) {
    done.records += records.size();
    if (form == RecordForm::lines) texts[file] = to_lines(records);
    else
      for (const Record& record : records)
        texts[record_path(file.parent_path(), record.experiment, record.point)] = to_json(record);
  }
  std::vector<Diagnostic> findings;
  std::error_code error;
  for (const auto& [file, text] : texts)
    if (std::filesystem::exists(file, error))
      findings.push_back({.file = file.string(), .message = "exists already; name another directory or remove it"});
  if (!findings.empty()) throw InputError(few_findings(std::move(findings)));
  for (const auto& [file, text] : texts) write_record_file(file, text);
  done.files = texts.size();
  return done;
}

}  // namespace tilescope::validate
