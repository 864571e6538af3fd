// The caches between the multiprocessors and memory: one L2, or several that share no line, and on some GPUs a
// last-level cache of the whole device behind them.
//
// - Each L2 sees what its own units ask for. What it lacks comes from the last-level cache, what that lacks from
// memory.
// - The last-level cache holds copies of memory only: what an L2 writes back goes through it to memory, and stays there
//   as clean data (AMD CDNA 3 white paper).
// - The L2s are coherent: a store takes the line from the others; a unit that reads what another L2 has not written yet
//   gets it from the last-level cache, to which it is written then.
#pragma once

#include "predict/l2/cache/cache.h"

namespace tilescope {

class CacheHierarchy {
 public:
  // Entry i is made of the pieces first[i] to first[i + 1].
  void reset(const CacheShape& shape, std::span<const CachePiece> pieces, std::span<const int> first);

  // Bytes: that the L2 lacked, of earlier contents that left the L2s, and of those it lacked that memory supplied.
  struct Moved {
    std::int64_t lacked = 0, written = 0, from_memory = 0;
  };
  // A unit of `side` in L2 number `cache` reads the entry.
  Moved read(int entry, int cache, int side);
  // It stores the entry, or adds to it: then the L2 fetches what it lacks.
  Moved store(int entry, int cache, bool adds);

  // Whether one L2 stands before memory: it can carry out uses later.
  bool is_alone() const { return l2_.size() == 1 && !has_last_level_; }
  L2Cache& l2(int cache) { return l2_[static_cast<std::size_t>(cache)]; }

 private:
  std::int64_t supplied_by_memory(std::int64_t lacked);

  std::vector<L2Cache> l2_;
  L2Cache last_level_;
  bool has_last_level_ = false;
  std::vector<int> stored_by_;  // by entry: the L2 that stored it last; -1: none, empty: there is one L2
};

}  // namespace tilescope
