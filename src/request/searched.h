// The best tiles of a point, for `search`.
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
  std::size_t most = 10;             // largest number of feasible tiles to show
  std::string how = {};              // how --kernel auto or a software chose the kernel; empty: it was named
  std::vector<std::string> outside;  // why the kernel is not launched for these sizes: then no tile is tried

  Columns<TileRow> best_columns() const;
  Columns<FallenRow> fallen_columns() const;
  std::vector<TileRow> best() const;      // the first `most`, best first
  std::vector<FallenRow> fallen() const;  // the tiles that cannot run
  Json json() const;                      // tilescope/search/1
};

// Throws InputError where `predict` does, and when a tile is given. Calls `progress` after each tile.
Searched search_of(const Options& options, const std::function<void(std::size_t done, std::size_t all)>& progress = {});

}  // namespace tilescope
