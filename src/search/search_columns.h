// The columns of search's tables.
#pragma once

#include <string>
#include <vector>

#include "predict/explain/column.h"
#include "search/search.h"

namespace tilescope {

// A tile and what makes its row: tiles that run, tiles that fell out.
struct TileRow {
  const Plan& plan;
  const HardwareProfile& hardware;
  const Candidate& tile;
};
struct FallenRow {
  const Plan& plan;
  const HardwareProfile& hardware;
  const FellOut& tile;
  std::int64_t available() const { return static_cast<std::int64_t>(tile.row.capacity_bytes); }
};

// `tiles` are the schedule's tile parameters, which have a column each.
Columns<TileRow> best_columns(const std::vector<std::string>& tiles);
Columns<FallenRow> fallen_columns(const std::vector<std::string>& tiles);

std::vector<ColumnList> search_column_lists();  // for the docs

}  // namespace tilescope
