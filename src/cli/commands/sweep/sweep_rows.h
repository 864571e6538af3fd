// What sweep and sweep merge share: columns of the rows, and where rows go.
#pragma once

#include "cli/commands/commands.h"
#include "cli/output/rows/shard_file.h"
#include "request/sweep/grid.h"

namespace tilescope::cli {

// Cells that many rows of a sweep share: of one thread.
struct SharedCells {
  // What they depend on: the plan, the GPU and the formats; whether there is a prediction, which model its time is of,
  // and whether it has bytes at a last-level cache.
  struct Key {
    const Sweep* of = nullptr;
    bool predicted = false, modelled = false, last_level = false;
    friend bool operator==(const Key&, const Key&) = default;
  };
  Key key;
  Cells cells;
  Cells row;  // that of the last point
};

// The columns of a sweep, and how a row is read from a point.
class SweepRows {
 public:
  // All columns, or those of --columns in its order; `objects`: a JSON object a row.
  SweepRows(const Arguments& arguments, const SweepGrid& grid, bool objects);
  Cells& row(const SweptPoint& point, SharedCells& shared) const;  // lies in `shared`
  const std::vector<RowColumn>& described() const { return described_; }
  bool objects() const { return objects_; }
  Wanted wanted() const { return objects_ ? Wanted::all : wanted_of(columns_); }  // what of a prediction rows show
  // Of SQLite: the type of each column, where the first point's row has a value.
  void set_types(const Cells& first);

 private:
  bool objects_;
  std::vector<PredictionColumn> columns_;
  std::vector<char> shared_;  // by column
  std::vector<RowColumn> described_;
};

// Columns that axes change, of those described: a database has an index for each.
std::vector<std::string> indexed_columns(const std::vector<std::string>& axes, const std::vector<RowColumn>& columns);

// The sink of a form that is no shard.
std::unique_ptr<RowSink> sink_of(const Arguments& arguments, RowForm form, const std::vector<RowColumn>& columns,
                                 const std::vector<std::string>& indexed);

ExitStatus merge_shards(const Arguments& arguments);  // sweep merge
// Of a sweep whose rows are written; says why it is no success, where a file has the rows.
ExitStatus status_of_sweep(const Arguments& arguments, bool any_feasible);

}  // namespace tilescope::cli
