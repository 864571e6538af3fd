// A table of values, printed as text, JSON, CSV or Markdown.
#pragma once

#include <string>
#include <vector>

#include "cli/input/choices.h"
#include "predict/explain/column.h"

namespace tilescope::cli {

struct Style {
  OutputFormat format = OutputFormat::text;
  std::size_t width = 0;  // most characters in a line of text; 0: no limit
  bool colour = false;    // colours in text
};

struct Table {
  std::string title;  // text and Markdown only
  std::vector<std::string> columns;
  std::vector<std::vector<Json>> rows;  // a cell is a string, integer, number, boolean or null
};

// A table of the columns that text shows.
template <class Row>
Table table_of(const std::string& title, const Columns<Row>& columns, const std::vector<Row>& rows) {
  return {title, text_headings(columns), text_cells(columns, rows)};
}

// JSON: an array of objects keyed by column. CSV: RFC 4180, numbers not rounded. In text wider than `style.width`,
// columns of text are folded. If that is not enough, the columns are printed in blocks with numbered rows.
std::string render(const Table& table, const Style& style);
inline std::string render(const Table& table, OutputFormat format) { return render(table, Style{.format = format}); }

// The text form alone (table_text.cpp).
std::string render_text(const Table& table, const Style& style);

// A cell as text: integers with thousands separators, other numbers with four digits, "-" for null.
std::string shown_cell(const Json& cell);

// One line of CSV, for tables too long to collect; added to a text.
std::string csv_line(const std::vector<Json>& cells);
void add_csv_line(const std::vector<Json>& cells, std::string& text);

}  // namespace tilescope::cli
