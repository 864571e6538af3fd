#include "predict/work/masked_scores.h"

#include <algorithm>
#include <numeric>

namespace tilescope {
namespace {

// Key tiles of a query tile that an edge of the mask crosses, on average: the tiles that hold the keys between what the
// first and the last row see. Where tiles of both kinds line up, fewer. Rows held at the edge's least key cross none.
double cut_tiles(const BoundLoop& query, const BoundLoop& key, const Edge& edge) {
  if (!edge.moves()) return 0;
  const std::int64_t step = std::gcd(query.tile, key.tile), off = (edge.offset % step + step) % step;
  const double crossed = 1 + static_cast<double>(query.tile - (off < 2 ? step : 0)) / static_cast<double>(key.tile);
  const std::int64_t held = edge.least > 0 ? edge.first_row_past(edge.least, query.size) : 0;
  return held == 0 ? crossed : crossed * (1 - static_cast<double>(held) / static_cast<double>(query.size));
}

}  // namespace

double masked_scores(const BoundIsland& bound, double score_points) {
  const Nest& nest = bound.nest;
  if (!nest.guarded() || nest.keys_are_chunked()) return 0;
  const BoundLoop &query = nest.loops[static_cast<std::size_t>(nest.query_loop)],
                  &key = nest.loops[static_cast<std::size_t>(nest.key_loop)];
  double cut = 0;
  if (nest.mask->contiguous()) {
    const KeyInterval keys = nest.mask->keys(query.size, key.size);
    cut = cut_tiles(query, key, keys.end) + cut_tiles(query, key, keys.begin);
  }
  double blocks = static_cast<double>(query.trips);
  for (const BoundLoop& loop : nest.all())
    if (&loop != &query && &loop != &key) blocks *= static_cast<double>(loop.trips);
  const auto left =
      static_cast<double>(bound.whole.tiles.area - bound.scored.tiles.area);  // of the last tiles, not computed
  return std::min(score_points, blocks * (cut * static_cast<double>(query.tile * key.tile) -
                                          left / static_cast<double>(query.trips)));
}

}  // namespace tilescope
