#include "predict/traffic/terms.h"

#include "base/checked.h"

namespace tilescope {

Terms no_terms(std::pmr::memory_resource* memory) {
  constexpr std::size_t usual = 48;  // of a launch
  Terms terms(memory);
  terms.reserve(usual);
  return terms;
}

void add_term(const BoundIsland& bound, Terms& terms, Term term) {
  if (term.bytes == 0) return;
  term.island = bound.number;
  terms.push_back(term);
}

Traffic sum_of(const Terms& terms) {
  Traffic sum;
  for (const Term& term : terms) {
    const auto d = static_cast<std::size_t>(term.direction);
    std::int64_t& bytes = sum.bytes[term.boundary][d];
    bytes = checked_add(bytes, term.bytes);
    const bool operand =
        term.cause == Cause::operand || (term.cause == Cause::transpose && term.direction == Direction::read);
    if (operand) sum.operand_bytes = checked_add(sum.operand_bytes, term.bytes);
    if (term.bulk) sum.bulk_smem[d] = checked_add(sum.bulk_smem[d], term.bytes);
  }
  return sum;
}

double moved(const Traffic& traffic, Boundary boundary) {
  return static_cast<double>(traffic.read(boundary)) + static_cast<double>(traffic.written(boundary));
}

}  // namespace tilescope
