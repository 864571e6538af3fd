#include "program/held.h"

#include <algorithm>

namespace tilescope {

void HeldValues::make(std::size_t tile, std::int64_t count, const std::vector<int>& over) {
  Value value{.count = count, .first = clock_, .last = clock_};
  for (const int other : over)
    if (const int held = now_[static_cast<std::size_t>(other)]; held >= 0) value.over.push_back(held);
  now_[tile] = static_cast<int>(values_.size());
  values_.push_back(std::move(value));
}

std::int64_t HeldValues::most() const {
  std::vector<std::int64_t> change(static_cast<std::size_t>(clock_) + 2, 0);
  std::vector<std::int64_t> end;
  for (const Value& value : values_) end.push_back(value.last + 1);
  for (const Value& value : values_)
    for (const int other : value.over)
      if (std::int64_t& until = end[static_cast<std::size_t>(other)]; until == value.first + 1) {
        --until;
        break;
      }
  for (std::size_t v = 0; v < values_.size(); ++v) {
    change[static_cast<std::size_t>(values_[v].first)] += values_[v].count;
    change[static_cast<std::size_t>(end[v])] -= values_[v].count;
  }
  std::int64_t now = 0, most = 0;
  for (const std::int64_t step : change) most = std::max(most, now += step);
  return most;
}

}  // namespace tilescope
