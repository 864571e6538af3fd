#include "optimum/program/rational_linear.h"

namespace tilescope {

RationalSolution solve_exactly(std::vector<RationalRow> rows, std::size_t unknowns) {
  std::vector<std::size_t> pivots;  // column of each reduced row
  for (std::size_t column = 0; column < unknowns && pivots.size() < rows.size(); ++column) {
    std::size_t row = pivots.size();
    while (row < rows.size() && rows[row][column] == 0) ++row;
    if (row == rows.size()) continue;
    std::swap(rows[row], rows[pivots.size()]);
    RationalRow& pivot = rows[pivots.size()];
    for (std::size_t k = unknowns + 1; k-- > column;) pivot[k] = pivot[k] / pivot[column];
    for (std::size_t other = 0; other < rows.size(); ++other) {
      if (other == pivots.size() || rows[other][column] == 0) continue;
      const Rational factor = rows[other][column];
      for (std::size_t k = column; k <= unknowns; ++k) rows[other][k] -= factor * pivot[k];
    }
    pivots.push_back(column);
  }
  RationalSolution solution;
  for (std::size_t row = pivots.size(); row < rows.size(); ++row) solution.consistent &= rows[row][unknowns] == 0;
  solution.free_unknowns = static_cast<int>(unknowns - pivots.size());
  if (!solution.consistent) return solution;
  solution.values.assign(unknowns, 0);
  for (std::size_t row = 0; row < pivots.size(); ++row) solution.values[pivots[row]] = rows[row][unknowns];
  return solution;
}

}  // namespace tilescope
