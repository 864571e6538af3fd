// Chooses a tile for a point without one. Refuses a point that the kernel cannot run.
#pragma once

#include <optional>

#include "search/search.h"

namespace tilescope {

// The point gets the tile, warps and stages that search ranks first among those that have what `options` fix. Where
// none is feasible, a kernel's point gets the first built one, any other keeps its own.
void take_best_tile(const Plan& plan, const HardwareProfile& hardware, Point& point, const SearchOptions& options = {});

// Chooses by search what the options leave open: the whole tile, or of a kernel the variant that has the given sizes.
// Then throws InputError if the plan cannot run the point. Gives the point's prediction where the search has made it.
std::optional<Prediction> settle_tile(const Plan& plan, const HardwareProfile& hardware, Point& point, bool given,
                                      const SearchOptions& options = {});

// The same in three steps. By the closed form: the point gets a tile, and its seconds are told where the search had a
// choice. Then by the walk among the first of `ranked`, where the point asks for it.
struct RankedTiles {
  SearchResult ranked = {};  // empty: nothing is left to choose
  std::optional<double> seconds() const;
};
RankedTiles rank_tiles(const Plan& plan, const HardwareProfile& hardware, Point& point, bool given,
                       const SearchOptions& options = {});
std::optional<Prediction> walk_tiles(const Plan& plan, const HardwareProfile& hardware, Point& point,
                                     RankedTiles& tiles);

// Throws InputError if the plan cannot run the point.
void refuse_unsupported(const Plan& plan, const HardwareProfile& hardware, const Point& point);

}  // namespace tilescope
