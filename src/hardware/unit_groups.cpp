#include "hardware/unit_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace tilescope {
namespace {

constexpr double far_side = 0.25;  // lines alternate between the partitions: 0 on SM 0's side, 0.5 on the other one

bool same(const UnitGroup& a, const UnitGroup& b) { return a.units == b.units && a.partition == b.partition; }

}  // namespace

std::vector<UnitGroup> groups_of_order(const std::vector<int>& unit_of_block, const std::vector<double>& far_part) {
  const std::size_t units = far_part.size();
  std::vector<int> all = unit_of_block;
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] != static_cast<int>(i)) return {};
  if (units == 0 || all.size() != units) return {};
  struct Run {
    int first = 0, last = 0;
    UnitGroup group;
  };
  std::vector<Run> runs;
  for (const int unit : unit_of_block) {
    const int partition = far_part[static_cast<std::size_t>(unit)] > far_side ? 1 : 0;
    if (runs.empty() || unit < runs.back().last || runs.back().group.partition != partition)
      runs.push_back({unit, unit, {0, partition}});
    runs.back().last = unit;
    ++runs.back().group.units;
  }
  std::vector<UnitGroup> groups;
  int begins = -1;  // first SM of the run before
  for (const Run& run : runs) {
    const bool goes_on = begins == run.last + 1 && groups.back().partition == run.group.partition;
    if (goes_on) groups.back().units += run.group.units;
    else groups.push_back(run.group);
    begins = run.first;
  }
  return groups;
}

std::string unit_groups_text(const std::vector<UnitGroup>& groups) {
  std::string text;
  for (const UnitGroup& group : groups)
    text += fmt::format("{}{}{}", text.empty() ? "" : " ", group.units, static_cast<char>('a' + group.partition));
  return text;
}

std::vector<UnitGroup> parse_unit_groups(const std::string& text, std::int64_t units, std::int64_t partitions) {
  std::vector<UnitGroup> groups;
  std::int64_t all = 0;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const int partition = word.back() - 'a';
    word.pop_back();
    const bool number = !word.empty() && word.size() < 7 && word.find_first_not_of("0123456789") == std::string::npos;
    if (!number || partition < 0 || partition >= partitions) return {};
    groups.push_back({std::stoll(word), partition}), all += groups.back().units;
  }
  return all == units ? groups : std::vector<UnitGroup>{};
}

bool same_cycle(const std::vector<UnitGroup>& a, const std::vector<UnitGroup>& b) {
  if (a.size() != b.size()) return false;
  if (a.empty()) return true;
  if (!same(a.front(), b.front())) return false;
  std::vector<UnitGroup> turned(b.begin() + 1, b.end());
  for (std::size_t i = 0; i < std::max<std::size_t>(1, turned.size()); ++i) {
    if (std::equal(turned.begin(), turned.end(), a.begin() + 1, same)) return true;
    std::rotate(turned.begin(), turned.begin() + (turned.empty() ? 0 : 1), turned.end());
  }
  return false;
}

}  // namespace tilescope
