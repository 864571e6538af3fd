// Times that others published: tables of papers and collections of measurements, each with its source, in
// validate/published/: a YAML file that says what the table is, and a CSV file of its rows.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "records/point.h"

namespace tilescope::validate {

inline constexpr const char* published_schema = "tilescope/published/1";

struct PublishedRow {
  std::vector<MeasurePoint> points;  // kernels that the row times together, run one after the other; at least one
  double seconds = 0;
  int line = 0;  // of the CSV file
};

struct PublishedTable {
  std::string name, source, rights, hardware;  // rights: why its numbers may stand here
  std::string file, rows_file;
  std::vector<std::string> copies;   // arrays that the timed call also copies, by a kernel of its own
  std::optional<double> mape, rank;  // bars: the most mean relative error, the least rank correlation
  std::vector<PublishedRow> rows;
};

// Throws InputError with every finding of the table's file, or of its rows.
PublishedTable load_published(const std::filesystem::path& file);

// Every *.yaml of the directory, by name. Throws InputError, also when there is none.
std::vector<PublishedTable> read_published(const std::filesystem::path& directory);

}  // namespace tilescope::validate
