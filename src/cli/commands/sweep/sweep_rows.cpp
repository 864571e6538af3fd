#include "cli/commands/sweep/sweep_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/output/output.h"
#include "request/sweep/columns.h"

namespace tilescope::cli {
namespace {

std::vector<PredictionColumn> chosen_columns(const Arguments& arguments, const std::vector<PredictionColumn>& all,
                                             bool objects) {
  const auto given = arguments.text("columns");
  if (!given) return without_idle(all, arguments);
  if (objects) refuse("--columns", "chooses columns of text, csv, md and SQLite; leave it out for json");
  std::vector<std::string> names;
  for (const PredictionColumn& column : all) names.push_back(column.key);
  std::vector<PredictionColumn> chosen;
  for (const std::string& name : split(*given, ',')) {
    const auto found = std::find(names.begin(), names.end(), trimmed(name));
    if (found == names.end())
      refuse("--columns",
             fmt::format("no column of sweep is called {}{}", shown_text(name), did_you_mean(name, names)));
    const PredictionColumn& column = all[static_cast<std::size_t>(found - names.begin())];
    for (const PredictionColumn& other : chosen)
      if (other.key == column.key) refuse("--columns", fmt::format("'{}' is named twice", column.key));
    chosen.push_back(column);
  }
  return chosen;
}

// Which column an axis changes, where the two have different names.
struct AxisColumn {
  std::string_view axis, column;
};
constexpr std::array<AxisColumn, 4> axis_columns{
    {{"seqlen", "q_len"}, {"head_dim", "d_qk"}, {"v_head_dim", "d_v"}, {"splits", "tile_splits"}}};

// Columns whose cells follow from what SharedCells::Key names. They are texts, and take longer than all others.
constexpr std::array<std::string_view, 10> shared_columns{"hardware", "schedule", "kernel", "dtype", "mask",
                                                          "diagram",  "sizes",    "l2",     "model", "basis"};

}  // namespace

SweepRows::SweepRows(const Arguments& arguments, const SweepGrid& grid, bool objects)
    : objects_(objects),
      columns_(chosen_columns(arguments, columns_at(prediction_columns(grid.tiles()), shown::csv), objects)) {
  if (objects) return;
  for (const PredictionColumn& column : columns_) {
    described_.push_back({column.key, column.unit, column.meaning, column.unit == "s" ? "REAL" : "INTEGER"});
    shared_.push_back(contains(shared_columns, column.key));
  }
}

Cells& SweepRows::row(const SweptPoint& point, SharedCells& shared) const {
  Cells& cells = shared.row;
  if (objects_) return cells = {sweep_object(point)}, cells;
  cells.resize(columns_.size());
  const PredictedPoint row = point.row();
  const Prediction* prediction = row.prediction;
  const SharedCells::Key key{.of = point.of,
                             .predicted = prediction != nullptr,
                             .modelled = prediction != nullptr && prediction->time.modelled,
                             .last_level = prediction != nullptr && prediction->traffic.both(LevelId::llc) != 0};
  if (shared.key != key) {
    shared.key = key, shared.cells.clear();
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (shared_[i] != 0) shared.cells.push_back(cell(columns_[i], row));
  }
  auto next = shared.cells.begin();
  for (std::size_t i = 0; i < columns_.size(); ++i) cells[i] = shared_[i] != 0 ? *next++ : cell(columns_[i], row);
  return cells;
}

void SweepRows::set_types(const Cells& first) {
  for (std::size_t i = 0; i < described_.size(); ++i) {
    if (first[i].is_string() || contains(std::array<std::string_view, 2>{"bound_by", "outside"}, described_[i].key))
      described_[i].type = "TEXT";
    if (first[i].is_number_float()) described_[i].type = "REAL";
  }
}

std::vector<std::string> indexed_columns(const std::vector<std::string>& axes, const std::vector<RowColumn>& columns) {
  std::vector<std::string> indexed;
  for (const std::string& axis : axes) {
    std::string name = axis.starts_with("dtype.")  ? "dtype"
                       : axis.starts_with("set.")  ? "hardware"
                       : axis.starts_with("size.") ? "sizes"
                                                   : axis;
    for (const AxisColumn& each : axis_columns)
      if (name == each.axis) name = each.column;
    const bool known =
        std::any_of(columns.begin(), columns.end(), [&](const RowColumn& column) { return column.key == name; });
    if (known && !contains(indexed, name)) indexed.push_back(name);
  }
  return indexed;
}

std::unique_ptr<RowSink> sink_of(const Arguments& arguments, RowForm form, const std::vector<RowColumn>& columns,
                                 const std::vector<std::string>& indexed) {
  if (form == RowForm::sqlite) return sqlite_sink(*arguments.text("output"), columns, indexed);
  return text_sink(arguments, form, columns);
}

ExitStatus status_of_sweep(const Arguments& arguments, bool any_feasible) {
  if (any_feasible) return ExitStatus::done;
  if (arguments.has("output") && !arguments.quiet()) print_note("note: no point can run");
  return ExitStatus::answer_no;
}

}  // namespace tilescope::cli
