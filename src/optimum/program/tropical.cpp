#include "optimum/program/tropical.h"

#include <algorithm>
#include <numeric>

#include "base/contains.h"

namespace tilescope {
namespace {

// coefficients . (exponents, growth) <= right, as one row with the right-hand side last.
std::vector<RationalRow> inequalities(const std::vector<std::vector<Rational>>& traffic,
                                      const std::vector<std::vector<Rational>>& memory, std::size_t tiles) {
  std::vector<RationalRow> rows;
  const auto add = [&](RationalRow row, const Rational& growth, const Rational& right) {
    row.push_back(growth), row.push_back(right);
    rows.push_back(std::move(row));
  };
  for (const auto& row : traffic) add(row, -1, 0);
  for (const auto& row : memory) add(row, 0, 1);
  for (std::size_t i = 0; i < tiles; ++i) {
    RationalRow row(tiles, 0);
    row[i] = -1;
    add(row, 0, 0);
  }
  return rows;
}

bool satisfies(const std::vector<RationalRow>& rows, const std::vector<Rational>& point) {
  for (const RationalRow& row : rows) {
    Rational sum = 0;
    for (std::size_t k = 0; k < point.size(); ++k) sum += row[k] * point[k];
    if (sum > row.back()) return false;
  }
  return true;
}

// The next subset of {0 .. count-1} of the same size in lexicographic order; false after the last.
bool advance(std::vector<std::size_t>& chosen, std::size_t count) {
  for (std::size_t i = chosen.size(); i-- > 0;) {
    if (chosen[i] + chosen.size() - i >= count) continue;
    ++chosen[i];
    for (std::size_t j = i + 1; j < chosen.size(); ++j) chosen[j] = chosen[j - 1] + 1;
    return true;
  }
  return false;
}

double subsets(std::size_t count, std::size_t size) {
  double product = 1;
  for (std::size_t i = 0; i < size; ++i) product *= static_cast<double>(count - i) / static_cast<double>(i + 1);
  return product;
}

}  // namespace

Rational dot(const std::vector<Rational>& row, const std::vector<Rational>& exponents) {
  return std::inner_product(row.begin(), row.end(), exponents.begin(), Rational(0));
}

std::optional<Growth> best_growth(const std::vector<std::vector<Rational>>& traffic,
                                  const std::vector<std::vector<Rational>>& memory, std::size_t tiles) {
  constexpr double most_subsets = 200000;
  const std::vector<RationalRow> rows = inequalities(traffic, memory, tiles);
  if (subsets(rows.size(), tiles + 1) > most_subsets) return std::nullopt;
  std::vector<std::size_t> chosen(tiles + 1);
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  std::vector<std::vector<Rational>> best;  // vertices of least growth
  do {
    std::vector<RationalRow> tight;
    for (const std::size_t row : chosen) tight.push_back(rows[row]);
    const RationalSolution vertex = solve_exactly(std::move(tight), tiles + 1);
    if (!vertex.consistent || vertex.free_unknowns > 0 || !satisfies(rows, vertex.values)) continue;
    if (!best.empty() && vertex.values.back() > best.front().back()) continue;
    if (!best.empty() && vertex.values.back() < best.front().back()) best.clear();
    if (!contains(best, vertex.values)) best.push_back(vertex.values);
  } while (advance(chosen, rows.size()));
  if (best.empty()) return std::nullopt;
  Growth result{best.front().back(), std::vector<Rational>(tiles, 0)};
  for (const auto& vertex : best)
    for (std::size_t i = 0; i < tiles; ++i) result.exponents[i] += vertex[i] / static_cast<std::int64_t>(best.size());
  return result;
}

}  // namespace tilescope
