// The records of one experiment while it is measured: DIRECTORY/EXPERIMENT.jsonl.
#pragma once

#include "records/record_lines.h"

namespace tilescope::validate {

class RecordStore {
 public:
  // Reads what is there: the file of lines, and a folder DIRECTORY/EXPERIMENT with a file a point. Throws InputError
  // when a record is damaged, so that no later write drops it.
  RecordStore(const std::filesystem::path& directory, const std::string& experiment);

  const std::filesystem::path& file() const { return file_; }
  bool holds(const MeasurePoint& point) const;
  // Whether the point need not be measured again: its record has a right result, of the same GPU, driver and revision.
  bool is_done(const MeasurePoint& point, const Environment& now) const;

  // Adds a record, or replaces the one of its point, and writes the whole file under a temporary name that is then
  // renamed: at every moment the file is complete and sorted. At 1 MB a write this is short beside a measurement. A
  // file of the same point in the older form is removed. Throws InputError when the file cannot be written.
  void put(const Record& record);

 private:
  std::filesystem::path file_;
  std::map<std::string, Record> records_;  // by point id
  std::map<std::string, Record> older_;    // of files in the older form, by point id
};

}  // namespace tilescope::validate
