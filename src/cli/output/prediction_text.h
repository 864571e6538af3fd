// The answer to one point as text or Markdown.
#pragma once

#include <string>

#include "cli/input/answer.h"
#include "predict/explain/row_columns.h"

namespace tilescope::cli {

// Traffic, work, footprint and time, with their bounds, errors and what they leave out.
std::string prediction_text(const Answer& answer, const Style& style);

// A table with the columns that text shows.
template <class Row>
Table table_of(const std::string& title, const Columns<Row>& columns, const std::vector<Row>& rows) {
  return {title, text_headings(columns), text_cells(columns, rows)};
}

}  // namespace tilescope::cli
