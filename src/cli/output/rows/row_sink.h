// Where the rows of a sweep go: one form each of CSV, JSON Lines, tables, SQLite, shards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/output/output.h"
#include "cli/output/table.h"
#include "predict/explain/column.h"

namespace tilescope::cli {

// A column of a stored table.
struct RowColumn {
  std::string key, unit, meaning;
  std::string type;  // of SQLite: INTEGER, REAL, TEXT
};

// A row: a cell a column, or one JSON object.
using Cells = std::vector<Json>;

// Rows that one thread has made, in the form in which they are written.
struct RowBatch {
  std::string text;
  std::vector<Cells> rows;
  std::size_t count = 0;
};

class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void add(Cells& row, RowBatch& batch) const = 0;  // by any thread; may take the cells
  virtual void write(RowBatch& batch) = 0;                  // in the order of the points; empties the batch
  virtual void commit() = 0;                                // the file appears under its name
  virtual void failed() {}  // no more rows come: those so far are printed where they go to standard output
};

enum class RowForm { csv, json, text, md, sqlite, parquet };

// The form that --format or the end of -o FILE asks for; without both CSV. InputError where the two contradict each
// other, and for Parquet in a build without it.
RowForm row_form(const Arguments& arguments);

// CSV, JSON Lines, text and Markdown. The last two hold all rows until the end: InputError for more than
// most_shown_rows.
inline constexpr std::size_t most_shown_rows = 100'000;
std::unique_ptr<RowSink> text_sink(const Arguments& arguments, RowForm form, const std::vector<RowColumn>& columns);

// A database with the table `points`, an index for each column of `indexed`, a table `columns` that explains each, and
// the view `points_with_units`.
std::unique_ptr<RowSink> sqlite_sink(const std::string& file, const std::vector<RowColumn>& columns,
                                     const std::vector<std::string>& indexed);

}  // namespace tilescope::cli
