#include "predict/l2/walk/walk_counts.h"

#include <cmath>

namespace tilescope {

void WalkCounts::add(const L2Cache::Tallies& tallies) {
  for (std::size_t i = 0; i < most_streams; ++i) {
    const auto of = [&](Tallied what) { return tallies[static_cast<std::size_t>(tally(what, i))]; };
    const std::int64_t lacked = of(reads).lacked + of(additions).lacked;
    fetched[i] += lacked, from_memory[i] += lacked;
    written[i] += of(stores).written + of(additions).written;
  }
}

void WalkCounts::give(const TileStreams& tiles, L2Walk& out) const {
  for (std::size_t i = 0; i < tiles.list.size(); ++i) {
    std::int64_t all = 0;
    for (const std::int64_t share : tiles.list[i].share) all += share;
    for (std::size_t a = 0; a < max_arrays; ++a) {
      const double share = all == 0 ? 0 : static_cast<double>(tiles.list[i].share[a]) / static_cast<double>(all);
      out.arrays[a].fetched_again += std::llround(static_cast<double>(fetched[i]) * share);
      out.arrays[a].written_again += std::llround(static_cast<double>(written[i]) * share);
      out.arrays[a].from_memory_again += std::llround(static_cast<double>(from_memory[i]) * share);
    }
  }
}

}  // namespace tilescope
