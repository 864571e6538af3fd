// The best tiles of a point: what `search` prints.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "request/options.h"
#include "search/search_columns.h"

namespace tilescope {

struct Searched {
  Plan plan;
  HardwareProfile hardware;
  SearchResult result;
  std::size_t most = 10;  // feasible tiles to show

  Columns<TileRow> best_columns() const;
  Columns<FallenRow> fallen_columns() const;
  std::vector<TileRow> best() const;      // the first `most`, best first
  std::vector<FallenRow> fallen() const;  // all that fell out
  Json json() const;                      // tilescope/search/1
};

// InputError as of `predict`, and when a tile is given. `progress` is called after each tile.
Searched search_of(const Options& options, const std::function<void(std::size_t done, std::size_t all)>& progress = {});

}  // namespace tilescope
