#include "records/record_store.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"

namespace tilescope::validate {

RecordStore::RecordStore(const std::filesystem::path& directory, const std::string& experiment)
    : file_(directory / (experiment + ".jsonl")) {
  std::error_code error;
  if (std::filesystem::exists(file_, error)) {
    std::vector<Diagnostic> findings;
    const auto keep = [this](Record&& record) { records_.emplace(point_id(record.point), std::move(record)); };
    read_lines(file_, keep, findings);
    if (!findings.empty()) throw InputError(std::move(findings));
  }
  const std::filesystem::path folder = directory / experiment;
  if (!std::filesystem::is_directory(folder, error) || std::filesystem::is_empty(folder, error)) return;
  for_each_record(folder, [this](Record&& record) { older_.emplace(point_id(record.point), record.file); });
}

bool RecordStore::holds(const MeasurePoint& point) const {
  const std::string id = point_id(point);
  return records_.contains(id) || older_.contains(id);
}

void RecordStore::put(const Record& record) {
  const std::string id = point_id(record.point);
  records_.insert_or_assign(id, record);
  std::vector<Record> all;
  for (const auto& [name, each] : records_) all.push_back(each);
  write_record_file(file_, to_lines(all));
  const auto older = older_.find(id);
  if (older == older_.end()) return;
  std::error_code error;
  std::filesystem::remove(older->second, error);
  older_.erase(older);
}

}  // namespace tilescope::validate
