#include "optimum/integer_search.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <random>

#include "base/test_seed.h"
#include "optimum/numeric_optimum.h"

namespace tilescope::integer_search_test {
namespace {

// A random problem with one to three tiled axes. Traffic depends on their trip counts, memory on their tiles.
struct RandomProblem {
  Symbols symbols;
  std::vector<SymbolId> tiles;
  std::vector<std::int64_t> sizes;
  Polynomial traffic, memory;
  std::int64_t capacity = 0;

  explicit RandomProblem(std::mt19937& engine) {
    const auto between = [&](std::int64_t least, std::int64_t most) {
      return std::uniform_int_distribution<std::int64_t>(least, most)(engine);
    };
    const std::int64_t axes = between(1, 3);
    std::vector<Polynomial> trips;
    for (std::int64_t i = 0; i < axes; ++i) {
      const SymbolId size = symbols.input("n" + std::to_string(i));
      tiles.push_back(symbols.input("g" + std::to_string(i)));
      sizes.push_back(between(1, 60));
      trips.push_back(symbols.ceil_ratio(size, tiles.back()));
    }
    const auto product = [&](const std::vector<Polynomial>& factors) {
      Polynomial term = between(1, 20);
      for (const Polynomial& factor : factors)
        if (between(0, 1)) term = term * factor;
      return term;
    };
    for (auto terms = between(1, 3); terms > 0; --terms) traffic += product(trips);
    for (auto terms = between(1, 3); terms > 0; --terms) memory += product({tiles.begin(), tiles.end()});
    for (const SymbolId tile : tiles) memory += Polynomial(tile) * between(1, 3);
    capacity = between(0, 4) + static_cast<std::int64_t>(evaluate(memory, symbols, at_one())) * between(1, 30);
  }

  Valuation at_one() const {
    Valuation values;
    for (const SymbolId tile : tiles) values[tile] = 1;
    return values;
  }
  Valuation size_values() const {
    Valuation values;
    for (std::size_t i = 0; i < sizes.size(); ++i) values[symbols.inputs()[2 * i]] = static_cast<double>(sizes[i]);
    return values;
  }
};

}  // namespace

TEST_CASE("integer optima of random problems lie between the certified bound and the rounded-down real tiles") {
  const unsigned used = test_seed();
  MESSAGE("seed " << used);
  std::mt19937 engine(used);
  int compared = 0;
  for (int i = 0; i < 200; ++i) {
    RandomProblem problem(engine);
    const std::array counts{problem.traffic, problem.memory};
    const Program program = compile(problem.symbols, counts);
    std::vector<std::int64_t> inputs;
    std::vector<std::size_t> positions;
    std::vector<TileSteps> steps;
    Valuation largest;
    for (std::size_t k = 0; k < problem.sizes.size(); ++k) {
      inputs.push_back(problem.sizes[k]), inputs.push_back(1);
      positions.push_back(2 * k + 1);
      steps.push_back({1, problem.sizes[k], 1});
      largest[problem.tiles[k]] = static_cast<double>(problem.sizes[k]);
    }
    const TileCount traffic = tile_count(program, inputs, positions),
                    memory = tile_count(program, inputs, positions, {}, 1);
    const IntegerSearch found = search_tiles(steps, memory, problem.capacity, traffic);
    REQUIRE(found.complete);

    const TileProblem relaxed{relax(problem.traffic, problem.symbols), problem.memory, problem.tiles};
    const std::array capacity{static_cast<double>(problem.capacity)};
    const OptimumRow row = numeric_optimum(relaxed, problem.symbols, problem.size_values(), capacity, largest).front();
    CAPTURE(i);
    CAPTURE(to_text(problem.traffic, problem.symbols));
    CAPTURE(to_text(problem.memory, problem.symbols));
    CAPTURE(problem.capacity);
    if (row.status == GeometricStatus::infeasible) {  // only tiles of 1 can fit; the set has no interior
      if (found.best) CHECK(memory(std::vector<std::int64_t>(steps.size(), 1)) == problem.capacity);
      continue;
    }
    CHECK(row.status == GeometricStatus::optimal);
    std::vector<std::int64_t> rounded;
    for (const double tile : row.tiles) rounded.push_back(std::max<std::int64_t>(1, static_cast<std::int64_t>(tile)));
    REQUIRE(found.best);
    CHECK(memory(rounded) <= problem.capacity);
    CHECK(static_cast<double>(found.best->traffic) >= row.lower_bound);
    CHECK(found.best->traffic <= traffic(rounded));
    ++compared;
  }
  MESSAGE(compared << " of 200 compared");
  CHECK(compared >= 150);
}

TEST_CASE("matmul: the best integer tiles of an exhaustive search, above the bound 2abc/sqrt(M) + ac") {
  // Loads count whole trips. Integer tiles therefore move more than the best real tiles (numeric_optimum_test.cpp), by
  // the last, partial tile. The reference is a second search that uses the formula: for each g_a it takes the largest
  // g_c that fits.
  const std::int64_t size = 8192;
  for (const std::int64_t capacity : {1024, 16384, 116736}) {
    const auto trips = [&](std::int64_t tile) { return (size + tile - 1) / tile; };
    const TileCount memory = [](std::span<const std::int64_t> t) { return t[0] * t[1] + t[0] * t[2] + t[2] * t[1]; };
    const TileCount traffic = [&](std::span<const std::int64_t> t) {
      return size * size * (trips(t[0]) + trips(t[1]) + 1);
    };
    const std::array steps{TileSteps{1, size, 1}, TileSteps{1, size, 1}, TileSteps{1, 1, 1}};
    const IntegerSearch found = search_tiles(steps, memory, capacity, traffic);
    REQUIRE(found.complete);
    std::int64_t direct = INT64_MAX;
    for (std::int64_t g = 1; g <= size && 2 * g + 1 <= capacity; ++g)
      direct = std::min(direct, size * size * (trips(g) + trips(std::min(size, (capacity - g) / (g + 1))) + 1));
    CHECK(found.best->traffic == direct);
    const double n = static_cast<double>(size), m = static_cast<double>(capacity);
    const double bound = 2 * n * n * n / std::sqrt(m) + n * n, real = 2 * n * n * n / (std::sqrt(m + 1) - 1) + n * n;
    const double moved = static_cast<double>(found.best->traffic);
    MESSAGE("M " << capacity << ": tiles " << found.best->tiles[0] << " x " << found.best->tiles[1] << ", ratio "
                 << moved / bound << ", real tiles " << real / bound);
    CHECK(moved >= real);
    CHECK(moved <= bound * 1.04);
  }
}

TEST_CASE("a search that stops at its limit reports it, and finding no tile that fits is a valid result") {
  const TileCount sum = [](std::span<const std::int64_t> t) { return t[0] + t[1]; };
  const TileCount traffic = [](std::span<const std::int64_t> t) { return 1000 - t[0] * t[1]; };
  const std::array steps{TileSteps{1, 50, 1}, TileSteps{2, 50, 4}};
  const IntegerSearch all = search_tiles(steps, sum, 40, traffic);
  CHECK(all.complete);
  CHECK(all.best->tiles == std::vector<std::int64_t>{18, 22});
  CHECK(all.best->traffic == 1000 - 18 * 22);
  const IntegerSearch cut = search_tiles(steps, sum, 40, traffic, 10);
  CHECK_FALSE(cut.complete);
  CHECK(cut.points == 10);
  CHECK_FALSE(search_tiles(steps, sum, 2, traffic).best);
  CHECK(search_tiles(steps, sum, 2, traffic).complete);
  const std::array crossed{TileSteps{5, 4, 1}, TileSteps{1, 1, 1}}, still{TileSteps{1, 4, 0}, TileSteps{1, 1, 1}};
  CHECK_FALSE(search_tiles(crossed, sum, 20, traffic).best);
  CHECK_THROWS_AS(search_tiles(still, sum, 20, traffic), std::invalid_argument);
}

TEST_CASE("the early exit skips only tiles that do not fit") {
  std::mt19937 engine(3);
  std::uniform_int_distribution<std::int64_t> any(1, 12);
  for (int i = 0; i < 50; ++i) {
    const std::int64_t capacity = 20 * any(engine), a = any(engine), b = any(engine);
    const TileCount memory = [&](std::span<const std::int64_t> t) { return a * t[0] * t[1] + b * t[1] + t[2]; };
    const TileCount traffic = [&](std::span<const std::int64_t> t) {
      return ceil_div(97, t[0]) * 10 + ceil_div(83, t[1]) * b + ceil_div(71, t[2]) * ceil_div(97, t[0]);
    };
    const std::array steps{TileSteps{1, 12, 1}, TileSteps{1, 12, 1}, TileSteps{1, 12, 1}};
    std::optional<std::int64_t> best;
    for (std::int64_t p = 1; p <= 12; ++p)
      for (std::int64_t q = 1; q <= 12; ++q)
        for (std::int64_t r = 1; r <= 12; ++r) {
          const std::array tiles{p, q, r};
          if (memory(tiles) <= capacity) best = std::min(best.value_or(INT64_MAX), traffic(tiles));
        }
    const IntegerSearch found = search_tiles(steps, memory, capacity, traffic);
    CHECK(found.best.has_value() == best.has_value());
    if (best) CHECK(found.best->traffic == *best);
  }
}

}  // namespace tilescope::integer_search_test
