// A table is collected once and printed as text, JSON, CSV or Markdown from the same values.
#pragma once

#include <string>
#include <vector>

#include "predict/explain/prediction_json.h"

namespace tilescope::cli {

enum class OutputFormat { text, json, csv, md };

struct Table {
  std::string title;  // text and Markdown only
  std::vector<std::string> columns;
  std::vector<std::vector<Json>> rows;  // a cell is a string, integer, number, boolean or null
};

// JSON: an array of objects keyed by column. CSV: RFC 4180, numbers unrounded.
std::string render(const Table& table, OutputFormat format);

// One line of CSV, for tables too long to collect.
std::string csv_line(const std::vector<Json>& cells);

}  // namespace tilescope::cli
