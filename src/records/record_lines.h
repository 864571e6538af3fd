// Records as JSON Lines: one line a record, `tilescope/record/2`, and one line an environment before those that name
// it, `tilescope/environment/1`. A file holds an experiment's records.
//
// A line says all that was measured at its point. What all points of a run share (GPU, driver, limits, revision) stands
// once, under a name made from its content, so files of different runs can be joined line by line. Counters that are
// the sum over the launches, and a launch's facts that would stand twice, are left out; the reader adds them up again.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "records/record.h"

namespace tilescope::validate {

inline constexpr std::string_view line_schema = "tilescope/record/2";
inline constexpr std::string_view environment_schema = "tilescope/environment/1";

// 16 hexadecimal digits (FNV-1a, 64 bits) of the environment without its date.
std::string environment_name(const Environment& environment);

std::string environment_line(const Environment& environment);  // both end in a line feed
std::string record_line(const Record& record);

// A whole file: environments by name, then records by point id.
std::string to_lines(const std::vector<Record>& records);

// Reads a file line by line and gives each record to `use`; `record.file` is "FILE:LINE". Lines of schema
// `tilescope/record/1`, with their environment inside, are read as well; empty lines are skipped. Throws InputError
// when the file cannot be opened. Every other finding is added to `findings` with its line, and reading goes on.
void read_lines(const std::filesystem::path& file, const std::function<void(Record&&)>& use,
                std::vector<Diagnostic>& findings);

}  // namespace tilescope::validate
