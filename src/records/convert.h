// Turns the two forms of records into each other.
#pragma once

#include <cstddef>
#include <filesystem>

namespace tilescope::validate {

enum class RecordForm {
  lines,  // <folder>/<experiment>.jsonl
  files,  // <folder>/<experiment>/<point id>.json
};

struct Conversion {
  std::size_t records = 0, files = 0;
};

// Reads every record below `from` and writes it below `to` in `form`; folders above the experiment stay the same. All
// files are read and checked before the first is written. Throws InputError with every finding, or when a file to be
// written exists.
Conversion convert_records(const std::filesystem::path& from, const std::filesystem::path& to, RecordForm form);

}  // namespace tilescope::validate
