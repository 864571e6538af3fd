#include "hardware/unit_groups.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "hardware/measured_curves.h"

namespace unit_groups_test {

using namespace tilescope;

namespace {

std::vector<UnitGroup> drawn_groups(std::mt19937& random) {
  std::vector<UnitGroup> groups(2 + random() % 8);
  for (UnitGroup& group : groups)
    group = {static_cast<std::int64_t>(2 * (1 + random() % 9)), static_cast<int>(random() % 2)};
  groups.front().partition = 0;
  return groups;
}

}  // namespace

TEST_CASE("groups drawn at random are found again from the order of the blocks") {
  std::mt19937 random(11);
  for (int draw = 0; draw < 500; ++draw) {
    const std::vector<UnitGroup> groups = drawn_groups(random);
    const std::int64_t units = std::accumulate(groups.begin(), groups.end(), std::int64_t{0},
                                               [](std::int64_t sum, const UnitGroup& g) { return sum + g.units; });
    // SM 0 begins the first group, and the last SMs end the others, so that no group goes on where another one ends.
    std::vector<std::vector<int>> members(groups.size());
    std::vector<double> far_part(static_cast<std::size_t>(units));
    std::vector<int> owner;
    for (std::size_t g = 0; g < groups.size(); ++g)
      owner.insert(owner.end(), static_cast<std::size_t>(groups[g].units - 2), static_cast<int>(g));
    std::shuffle(owner.begin(), owner.end(), random);
    std::vector<int> all;  // each group has a low SM and a high one
    for (std::size_t g = 0; g < groups.size(); ++g) all.push_back(static_cast<int>(g));
    all.insert(all.end(), owner.begin(), owner.end());
    for (std::size_t g = 0; g < groups.size(); ++g) all.push_back(static_cast<int>(g));
    for (std::size_t unit = 0; unit < all.size(); ++unit) {
      const auto group = static_cast<std::size_t>(all[unit]);
      members[group].push_back(static_cast<int>(unit));
      far_part[unit] = groups[group].partition == 0 ? 0.02 : 0.48;
    }
    std::vector<int> order;
    for (const std::vector<int>& list : members) order.insert(order.end(), list.begin(), list.end());
    const std::vector<UnitGroup> found = groups_of_order(order, far_part);
    const std::string text = unit_groups_text(groups);
    REQUIRE(unit_groups_text(found) == text);
    CHECK(unit_groups_text(parse_unit_groups(text, units, 26)) == text);
    CHECK(parse_unit_groups(text, units + 1, 26).empty());
    std::vector<UnitGroup> turned = groups;
    std::rotate(turned.begin() + 1, turned.begin() + 1 + static_cast<std::ptrdiff_t>(random() % (groups.size() - 1)),
                turned.end());
    CHECK(same_cycle(turned, groups));
    ++turned.back().units;
    CHECK_FALSE(same_cycle(turned, groups));
  }
}

TEST_CASE(
    "a group that starts in its middle is one group, one of both sides is two; an SM that stands twice has none") {
  CHECK(unit_groups_text(groups_of_order({4, 5, 2, 3, 0, 1}, {.5, .5, 0, 0, 0, 0})) == "4a 2b");
  CHECK(unit_groups_text(groups_of_order({0, 1, 2, 3}, {0, 0, .5, .5})) == "2a 2b");
  CHECK(groups_of_order({0, 1, 1, 3}, {0, 0, 0, 0}).empty());
  CHECK(groups_of_order({0, 1, 2}, {0, 0}).empty());
  CHECK(groups_of_order({}, {}).empty());
}

TEST_CASE("every record of hardware measure has groups of all SMs; the shipped profiles have those of most boards") {
  std::map<std::string, std::pair<int, int>> counts;  // by GPU: records, and those with the profile's groups
  for (const MeasuredCurves& measured : measured_curves()) {
    const HardwareProfile profile =
        load_profile(std::string(TILESCOPE_SOURCE_DIR) + "/hardware/" + measured.gpu + "_sxm.yaml");
    std::vector<int> order;
    std::vector<double> far_part;
    for (const auto& [at, unit] : measured.points(launch_order_curve)) order.push_back(static_cast<int>(unit));
    for (const auto& [at, part] : measured.points(far_lines_curve)) far_part.push_back(part);
    CAPTURE(measured.file);
    const std::vector<UnitGroup> groups = groups_of_order(order, far_part);
    CHECK(std::accumulate(groups.begin(), groups.end(), std::int64_t{0},
                          [](std::int64_t sum, const UnitGroup& group) { return sum + group.units; }) == 132);
    auto& [records, as_shipped] = counts[measured.gpu];
    ++records;
    as_shipped += same_cycle(groups, profile.l2_groups->value);
  }
  CHECK(counts.size() == 2);
  for (const auto& [gpu, count] : counts) {
    CAPTURE(gpu);
    CHECK(count.first >= 2);
    CHECK(2 * count.second > count.first);  // the order is a board's own: run_7 of the H200 is of another one
  }
}

}  // namespace unit_groups_test
