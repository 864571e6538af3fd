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
  for_each_record(folder, [this](Record&& record) { older_.emplace(point_id(record.point), std::move(record)); });
}

bool RecordStore::holds(const MeasurePoint& point) const {
  const std::string id = point_id(point);
  return records_.contains(id) || older_.contains(id);
}

bool RecordStore::is_done(const MeasurePoint& point, const Environment& now) const {
  const std::string id = point_id(point);
  const auto right = [&](const std::map<std::string, Record>& records) {
    const auto found = records.find(id);
    if (found == records.end()) return false;
    const Environment& then = found->second.environment;
    return found->second.correctness && found->second.correctness->passed && then.hardware == now.hardware &&
           then.gpu == now.gpu && then.driver == now.driver && then.revision == now.revision;
  };
  return right(records_) || right(older_);
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
  std::filesystem::remove(older->second.file, error);
  older_.erase(older);
}

}  // namespace tilescope::validate
