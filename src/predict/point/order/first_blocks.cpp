#include "predict/point/order/first_blocks.h"

#include <algorithm>
#include <iterator>

namespace tilescope {
namespace {

// Microbenchmark on an H200, 40 to 1000 blocks of 1 to 8 a unit, from every group: blocks of other groups after which
// the first group took its second round (69 to 72) and each later one (85 to 88), whatever the blocks' threads.
constexpr std::int64_t until_second_round = 70, until_later_round = 86;

class Order {
 public:
  Order(const std::vector<UnitGroup>& groups, std::int64_t start)
      : groups_(groups), start_(static_cast<std::size_t>(start)) {
    for (std::int64_t at = 0; const UnitGroup& group : groups) offset_.push_back(at), at += group.units;
  }

  // `count` blocks on a group: both units of its first pairs, then one of each other pair.
  void give(std::size_t group, std::int64_t count) {
    const std::int64_t units = groups_[group].units, pairs = (units + 1) / 2,
                       both = std::max<std::int64_t>(0, count - pairs);
    for (std::int64_t pair = 0; pair < pairs && count > 0; ++pair) {
      const std::int64_t end = std::min(2 * pair + (pair < both ? 2 : 1), units);
      for (std::int64_t unit = 2 * pair; unit < end && count > 0; ++unit, --count)
        list.push_back(static_cast<std::int32_t>(offset_[group] + unit));
    }
  }

  void whole_rounds(std::int64_t rounds) {
    std::int64_t first_left = rounds, since = 0, until = 0;
    for (std::int64_t i = 0; i < rounds * static_cast<std::int64_t>(groups_.size() - 1); ++i) {
      if (first_left > 0 && since >= until) {
        until = first_left-- == rounds ? until_second_round : until_later_round;
        give(0, groups_[0].units), since = 0;
      }
      const std::size_t group = turn(i);
      give(group, groups_[group].units), since += groups_[group].units;
    }
    while (first_left-- > 0) give(0, groups_[0].units);
  }

  void rest(std::int64_t blocks) {
    const std::vector<std::int64_t> shares = shares_of_groups(groups_, blocks);
    give(0, shares[0]);
    for (std::int64_t i = 0; i < std::ssize(groups_) - 1; ++i) give(turn(i), shares[turn(i)]);
  }

  std::vector<std::int32_t> list;

 private:
  std::size_t turn(std::int64_t i) const { return 1 + (start_ + static_cast<std::size_t>(i)) % (groups_.size() - 1); }

  const std::vector<UnitGroup>& groups_;
  std::size_t start_;
  std::vector<std::int64_t> offset_;
};

}  // namespace

std::vector<std::int64_t> shares_of_groups(const std::vector<UnitGroup>& groups, std::int64_t blocks) {
  std::vector<std::int64_t> taken(groups.size(), 0);
  taken.front() = std::min(groups.front().units, blocks);
  blocks -= taken.front();
  if (groups.size() < 2) return taken;
  const auto smallest = std::min_element(groups.begin() + 1, groups.end(),
                                         [](const UnitGroup& a, const UnitGroup& b) { return a.units < b.units; });
  const auto first = static_cast<std::size_t>(smallest - groups.begin() - 1);
  for (const std::int64_t in_pair : {2, 1})
    for (bool dealt = true; blocks > 0 && dealt;) {
      dealt = false;
      for (std::size_t i = 0; i + 1 < groups.size() && blocks > 0; ++i) {
        const std::size_t g = 1 + (first + i) % (groups.size() - 1);
        if (taken[g] < groups[g].units / in_pair) ++taken[g], --blocks, dealt = true;
      }
    }
  return taken;
}

std::vector<std::int32_t> units_of_first_blocks(const HardwareProfile& hardware, std::int64_t blocks,
                                                std::int64_t resident, std::int64_t start) {
  const std::int64_t units = hardware.units.value, rounds = std::min(resident, blocks / units);
  if (!hardware.l2_groups || hardware.l2_groups->value.size() < 2) {
    std::vector<std::int32_t> list(static_cast<std::size_t>(std::min(blocks, resident * units)));
    for (std::size_t i = 0; i < list.size(); ++i)
      list[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) % units);
    return list;
  }
  Order order(hardware.l2_groups->value, start);
  order.whole_rounds(rounds);
  if (rounds < resident && blocks > rounds * units) order.rest(blocks - rounds * units);
  return order.list;
}

}  // namespace tilescope
