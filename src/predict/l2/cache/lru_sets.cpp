#include "predict/l2/cache/lru_sets.h"

#include <algorithm>

namespace tilescope {

void LruSets::reset(std::size_t sets, std::size_t lines) {
  sets_.assign(sets, {});
  used_.assign(lines, 0);
}

void LruSets::make_queue(Set& set) const {
  set.queue.clear(), set.next = 0;
  for (const std::uint32_t line : set.fresh)
    if (used_[line] != 0) set.queue.push_back(std::uint64_t{used_[line]} << 32 | line);
  set.fresh.clear();
  if (!std::is_sorted(set.queue.begin(), set.queue.end())) std::sort(set.queue.begin(), set.queue.end());
  set.queue.erase(std::unique(set.queue.begin(), set.queue.end()), set.queue.end());
}

void LruSets::clear_fresh(Set& set) const {
  std::sort(set.fresh.begin(), set.fresh.end());
  set.fresh.erase(std::unique(set.fresh.begin(), set.fresh.end()), set.fresh.end());
  std::erase_if(set.fresh, [&](std::uint32_t line) { return used_[line] == 0; });
  set.most_fresh = std::max<std::size_t>(64, 2 * set.fresh.size());
}

LruSets::Stamp LruSets::renumber() {
  std::vector<std::uint64_t> all;
  for (std::size_t line = 0; line < used_.size(); ++line)
    if (used_[line] != 0) all.push_back(std::uint64_t{used_[line]} << 32 | line);
  std::sort(all.begin(), all.end());
  for (Set& set : sets_) {
    for (std::size_t i = set.next; i < set.queue.size(); ++i)
      set.fresh.push_back(static_cast<std::uint32_t>(set.queue[i]));
    set.queue.clear(), set.next = 0;
  }
  Stamp now = 0;
  for (const std::uint64_t each : all) used_[static_cast<std::uint32_t>(each)] = ++now;
  return now;
}

}  // namespace tilescope
