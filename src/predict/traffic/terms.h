// Terms of one launch, and what they sum to.
#pragma once

#include <memory_resource>
#include <vector>

#include "predict/point/bound_island.h"
#include "predict/prediction.h"

namespace tilescope {

// Lists of stages lie in the memory of one call of `predict`, so that a sweep's points take none from the heap.
using Terms = std::pmr::vector<Term>;
Terms no_terms(std::pmr::memory_resource* memory);

// Adds a term of the launch; none of zero bytes.
void add_term(const BoundIsland& bound, Terms& terms, Term term);

// Bytes of terms: of each boundary and direction, and what of shared memory's reads are operands of products.
struct Traffic {
  LevelBytes bytes{};
  std::int64_t operand_bytes = 0;           // smem reads of matrix operands, by products or to transpose them
  std::array<std::int64_t, 2> bulk_smem{};  // [direction]: the part of smem traffic that bulk copies move

  std::int64_t read(Boundary boundary) const { return bytes[boundary][0]; }
  std::int64_t written(Boundary boundary) const { return bytes[boundary][1]; }
};
// Throws CountOverflow.
Traffic sum_of(const Terms& terms);

// Bytes over a boundary, both ways.
double moved(const Traffic& traffic, Boundary boundary);

}  // namespace tilescope
