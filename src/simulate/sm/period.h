// Where the state of a simulated SM repeats: marks at the starts of passes of its first warp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "simulate/sm/state.h"

namespace tilescope::sm_state {

struct Mark {
  std::uint64_t state = 0, later = 0;  // hashes; `later`: were copies later, 0: not asked
  Ticks clock = 0;
  std::int64_t issued = 0;  // operations of the loop, of all warps

  // `as_later`: were copies later too.
  bool same(const Mark& other, bool as_later) const {
    return state == other.state && (later == other.later || !as_later);
  }
};

// Operations of the loop that all warps have issued, which have ended `passes`: where no state repeats, warps are
// anywhere in theirs.
inline std::int64_t issued_of_loop(std::span<const Warp> warps, std::int64_t passes, const SmCode& code) {
  std::int64_t issued = passes * code.length();
  for (const Warp& warp : warps) issued += static_cast<std::int64_t>(warp.next) - code.loop;
  return issued;
}

// After a pass of the first warp: where each warp has ended one since the last time, and the state is the `same`,
// passes that would go as this one did are counted as if they had been simulated, up to the last but one. Returns how
// many.
inline std::int64_t leave_out(std::span<Warp> warps, std::int64_t passes, bool same) {
  std::int64_t most = 0;
  for (Warp& warp : warps) {
    same = same && warp.passes == warp.marked + 1;
    most = std::max(most, warp.marked = warp.passes);
  }
  const std::int64_t more = same ? std::max<std::int64_t>(0, passes - 1 - most) : 0;
  for (Warp& warp : warps) warp.passes = warp.marked += more;
  return more;
}

class Marks {
 public:
  // A period is looked for from the first pass on, or, to count and keep what comes after it, from when SMs have
  // settled.
  explicit Marks(bool early) : early_(early) {}

  // Keeps the mark. Whether its state was there before: then `from` is that mark. Clears `as_later` where the state
  // repeats elsewhere were copies later.
  bool repeats(const Mark& mark, bool settled, bool& as_later) {
    const auto [first, same] = find(mark, 0);
    early_ = early_ && same;
    if (early_ && first < seen_.size()) return from_ = first, true;
    if (settled && !early_) {
      const auto [found, still_same] = find(mark, settled_);
      as_later = as_later && still_same;
      if (found < seen_.size()) return from_ = found, true;
    }
    if (!settled) from_ = ++settled_;
    seen_.push_back(mark);
    return false;
  }

  // See above; where no state repeated, the first one after settling.
  const Mark& from() const { return seen_[from_]; }

 private:
  // The first one from `begin` on with its state, and whether the state with later copies is there too, or neither.
  std::pair<std::size_t, bool> find(const Mark& mark, std::size_t begin) const {
    const auto as = [&](std::uint64_t Mark::*state) {
      std::size_t at = begin;
      while (at < seen_.size() && seen_[at].*state != mark.*state) ++at;
      return at;
    };
    const std::size_t found = as(&Mark::state);
    return {found, mark.later == 0 || as(&Mark::later) == found};
  }

  bool early_;  // a period before settling is as good: its clocks are the same
  std::vector<Mark> seen_;
  std::size_t settled_ = 0, from_ = 0;  // the first mark after settling
};

}  // namespace tilescope::sm_state
