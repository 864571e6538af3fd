#include "cli/output/rows/row_sink.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/input/file_endings.h"
#include "cli/input/options.h"

namespace tilescope::cli {
namespace {

// --format is set where the ending is of one of its choices (cli/input/file_endings.h).
RowForm form_of_file(const std::string& file) {
  const std::string format = format_of_ending(file);
  return format == "sqlite" ? RowForm::sqlite : format == "parquet" ? RowForm::parquet : RowForm::csv;
}

RowForm form_of_format(OutputFormat format) {
  switch (format) {
    case OutputFormat::json:
      return RowForm::json;
    case OutputFormat::text:
      return RowForm::text;
    case OutputFormat::md:
      return RowForm::md;
    case OutputFormat::csv:
      break;
  }
  return RowForm::csv;
}

class LineSink : public RowSink {
 public:
  LineSink(const Arguments& arguments, bool csv, const std::vector<RowColumn>& columns)
      : csv_(csv), output_(arguments) {
    if (!csv) return;
    std::vector<std::string> keys;
    for (const RowColumn& column : columns) keys.push_back(column.key);
    output_.write(join(keys, ",") + "\n");
  }
  void add(Cells& row, RowBatch& batch) const override {
    if (csv_) add_csv_line(row, batch.text);
    else batch.text += row.front().dump() + "\n";
  }
  void write(RowBatch& batch) override {
    output_.write(batch.text);
    batch.text.clear();
  }
  void commit() override { output_.commit(); }
  void failed() override { output_.flush(); }

 private:
  bool csv_;
  Output output_;
};

// Widths of columns depend on all rows.
class TableSink : public RowSink {
 public:
  TableSink(const Arguments& arguments, RowForm form, const std::vector<RowColumn>& columns)
      : arguments_(arguments), style_(style_of(arguments)) {
    style_.format = form == RowForm::md ? OutputFormat::md : OutputFormat::text;
    for (const RowColumn& column : columns) table_.columns.push_back(column.key);
  }
  void add(Cells& row, RowBatch& batch) const override { batch.rows.push_back(std::move(row)); }
  void write(RowBatch& batch) override {
    for (Cells& row : batch.rows) table_.rows.push_back(std::move(row));
    batch.rows.clear();
    if (table_.rows.size() > most_shown_rows)
      refuse("--format", fmt::format("text and md hold all rows in memory: at most {}; use csv, json or -o FILE.sqlite",
                                     with_thousands(static_cast<long long>(most_shown_rows))));
  }
  void commit() override { deliver(arguments_, render(table_, style_)); }

 private:
  const Arguments& arguments_;
  Style style_;
  Table table_;
};

}  // namespace

RowForm row_form(const Arguments& arguments) {
  const auto file = arguments.text("output");
  const RowForm by_name = file ? form_of_file(*file) : RowForm::csv;
  if (by_name == RowForm::parquet)
    refuse(
        "--output",
        "this program writes no Parquet: write FILE.csv or FILE.sqlite and convert it, as docs/many-points.md shows");
  return arguments.has("format") ? form_of_format(arguments.format()) : by_name;
}

std::unique_ptr<RowSink> text_sink(const Arguments& arguments, RowForm form, const std::vector<RowColumn>& columns) {
  if (form == RowForm::csv || form == RowForm::json)
    return std::make_unique<LineSink>(arguments, form == RowForm::csv, columns);
  return std::make_unique<TableSink>(arguments, form, columns);
}

}  // namespace tilescope::cli
