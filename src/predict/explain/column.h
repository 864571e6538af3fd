// A quantity that is printed, described once: its key, heading, unit, meaning, origin, and how it is read from a row.
// JSON objects, CSV, text and Markdown tables, and docs/columns.md are made from lists of such columns.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "predict/explain/json.h"

namespace tilescope {

// Where a value comes from.
enum class Origin {
  question,    // an option or a file names it
  loops,       // exact count, from the loops of the schedule alone
  descriptor,  // exact count, with the instruction counts of the kernel's descriptor
  cache,       // bytes, by the model of the L2 over the order of blocks
  profile,     // of the GPU, as its profile states it
  time_model,  // counts on the measured rates of the GPU's profile
  bound,       // a theorem on what every schedule moves
  records,     // statistics over recorded measurements
  measured,    // a counter or a clock of a recorded run
  code         // machine code of a file
};
const char* description(Origin origin);  // a few words, for the docs

struct ColumnInfo {
  std::string key;    // in JSON and CSV
  std::string title;  // heading in text and Markdown
  std::string unit;   // "B", "s", "FLOP", ...; empty: a name or a plain number
  std::string meaning;
  Origin origin = Origin::question;
};

template <class Row>
struct Column : ColumnInfo {
  std::function<Json(const Row&)> value;      // of JSON and CSV; "discarded": the row has no such field
  std::function<Json(const Row&)> text = {};  // of text and Markdown, where it differs from the value
  bool in_json = true, in_text = true;
};

template <class Row>
using Columns = std::vector<Column<Row>>;

// Columns that only JSON shows, or only text, Markdown and CSV.
template <class Row>
Column<Row> json_only(ColumnInfo info, std::function<Json(const Row&)> value) {
  return {{std::move(info)}, std::move(value), {}, true, false};
}
template <class Row>
Column<Row> text_only(ColumnInfo info, std::function<Json(const Row&)> value) {
  return {{std::move(info)}, std::move(value), {}, false, true};
}

// {"key": value, ...} of the columns that JSON shows.
template <class Row>
Json object_of(const Columns<Row>& columns, const Row& row) {
  Json object = Json::object();
  for (const Column<Row>& column : columns) {
    if (!column.in_json) continue;
    if (Json value = column.value(row); !value.is_discarded()) object[column.key] = std::move(value);
  }
  return object;
}

template <class Row>
Json objects_of(const Columns<Row>& columns, const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(object_of(columns, row));
  return list;
}

// Headings and cells of the columns that text and Markdown show.
template <class Row>
std::vector<std::string> text_headings(const Columns<Row>& columns) {
  std::vector<std::string> headings;
  for (const Column<Row>& column : columns)
    if (column.in_text) headings.push_back(column.title);
  return headings;
}
template <class Row>
std::vector<std::vector<Json>> text_cells(const Columns<Row>& columns, const std::vector<Row>& rows) {
  std::vector<std::vector<Json>> table;
  for (const Row& row : rows) {
    auto& cells = table.emplace_back();
    for (const Column<Row>& column : columns)
      if (column.in_text) cells.push_back(column.text ? column.text(row) : column.value(row));
  }
  return table;
}

// The columns of one output, for the docs.
struct ColumnList {
  std::string name;     // "traffic"
  std::string printed;  // "predict, explain: JSON traffic[], text"
  std::vector<ColumnInfo> columns;
};

template <class Row>
ColumnList listed(const std::string& name, const std::string& printed, const Columns<Row>& columns) {
  return {name, printed, {columns.begin(), columns.end()}};
}

}  // namespace tilescope
