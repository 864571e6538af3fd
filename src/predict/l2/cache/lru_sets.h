// Lines of a cache's sets in the order of their use. A use costs one store of its number: the order is worked out where
// a set must give lines up, for many at a time.
#pragma once

#include <cstdint>
#include <vector>

namespace tilescope {

class LruSets {
 public:
  using Stamp = std::uint32_t;  // number of a use, from 1; lines of one use have the order of their numbers

  void reset(std::size_t sets, std::size_t lines);
  bool has(std::size_t line) const { return used_[line] != 0; }
  void touch(std::size_t line, Stamp now) { used_[line] = now; }
  // Whether all lines from `first` on are there; then they are touched.
  bool touch_all(std::size_t first, std::size_t end, Stamp now);
  void insert(std::size_t set, std::size_t line, std::int64_t bytes, Stamp now);
  void remove(std::size_t set, std::size_t line, std::int64_t bytes);
  std::int64_t bytes(std::size_t set) const { return sets_[set].bytes; }
  std::size_t oldest(std::size_t set);  // of at least one line
  // Uses are numbered anew, in their order: as many numbers as lines are taken.
  Stamp renumber();

 private:
  struct Set {
    std::int64_t bytes = 0;
    std::size_t next = 0;              // of `queue`
    std::size_t most_fresh = 64;       // then it is cleared of lines that have gone
    std::vector<std::uint64_t> queue;  // stamp and line, oldest first, as they were when it was made
    std::vector<std::uint32_t> fresh;  // lines that came or were used since; some are there no more, or twice
  };
  void make_queue(Set& set) const;
  void clear_fresh(Set& set) const;

  std::vector<Stamp> used_;  // by line: its last use; 0: it is not there
  std::vector<Set> sets_;
};

inline bool LruSets::touch_all(std::size_t first, std::size_t end, Stamp now) {
  bool all = true;
  for (std::size_t line = first; line < end; ++line) all &= used_[line] != 0;
  if (all)
    for (std::size_t line = first; line < end; ++line) used_[line] = now;
  return all;
}

inline void LruSets::insert(std::size_t set, std::size_t line, std::int64_t bytes, Stamp now) {
  Set& own = sets_[set];
  used_[line] = now;
  own.bytes += bytes;
  if (own.fresh.size() >= own.most_fresh) clear_fresh(own);
  own.fresh.push_back(static_cast<std::uint32_t>(line));
}

inline void LruSets::remove(std::size_t set, std::size_t line, std::int64_t bytes) {
  used_[line] = 0;
  sets_[set].bytes -= bytes;
}

inline std::size_t LruSets::oldest(std::size_t set) {
  Set& own = sets_[set];
  while (true) {
    if (own.next == own.queue.size()) make_queue(own);
    const std::uint64_t first = own.queue[own.next];
    const auto line = static_cast<std::uint32_t>(first);
    const Stamp used = used_[line];
    if (used == first >> 32) return line;  // all that were used since are newer
    ++own.next;
    if (used != 0) own.fresh.push_back(line);
  }
}

}  // namespace tilescope
