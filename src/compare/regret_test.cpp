#include <doctest/doctest.h>

#include <cmath>

#include "compare/compare.h"

namespace regret_test {

using namespace tilescope;

TEST_CASE("regret compares the measured time of the tile predicted fastest with that of the fastest tile") {
  CHECK(regret_of({{1, 7}}) == 0);
  CHECK(regret_of({{2, 10}, {1, 12}, {3, 8}}) == doctest::Approx(0.5));
  CHECK(regret_of({{2, 10}, {1, 8}, {3, 12}}) == 0);
}

TEST_CASE("regret is computed by kernel and GPU for workloads with at least four tiles") {
  Comparison comparison;
  const auto add = [&](const char* hardware, const char* kernel, std::int64_t keys, std::int64_t tile, double predicted,
                       double measured) {
    const std::string workload = "kv" + std::to_string(keys), point = workload + "-" + std::to_string(tile);
    comparison.rows.push_back({.point = point,
                               .hardware = hardware,
                               .kernel = kernel,
                               .quantity = "seconds",
                               .level = "",
                               .direction = "",
                               .predicted = predicted,
                               .measured = measured,
                               .tolerance = {},
                               .reason = ""});
    comparison.records.push_back({hardware, kernel, point, workload, ""});
  };
  for (int tile = 1; tile <= 4; ++tile) add("g", "k", 64, 16 * tile, tile, tile == 2 ? 4 : 5);  // takes 5 / 4
  for (int tile = 1; tile <= 4; ++tile) add("g", "k", 128, 16 * tile, tile, tile);              // takes the best
  for (int tile = 1; tile <= 3; ++tile) add("g", "k", 256, 16 * tile, tile, 4 - tile);          // too few tiles
  for (int tile = 1; tile <= 6; ++tile) add("g", "k", 512, 16 * (tile % 3), tile, 4 - tile);    // three, twice each
  for (int tile = 1; tile <= 4; ++tile) add("h", "k", 64, 16 * tile, 9 - tile, 10 - tile);      // another GPU
  const std::vector<SearchRegret> regrets = search_regret(comparison);
  REQUIRE(regrets.size() == 2);
  CHECK(regrets[0].hardware == "g");
  CHECK(regrets[0].workloads == 2);
  CHECK(regrets[0].tiles == 8);
  CHECK(regrets[0].mean == doctest::Approx(std::sqrt(1.25) - 1));
  CHECK(regrets[0].worst == doctest::Approx(0.25));
  CHECK(regrets[0].worst_workload.find("kv64") != std::string::npos);
  CHECK(regrets[1].mean == 0);
  CHECK(regrets[0].within_bar);  // two workloads are too few to judge
  for (int keys = 1; keys <= 10; ++keys)
    for (int tile = 1; tile <= 4; ++tile) add("g", "k", 1000 * keys, 16 * tile, tile, tile == 2 ? 4 : 5);
  CHECK_FALSE(search_regret(comparison)[0].within_bar);
}

}  // namespace regret_test
