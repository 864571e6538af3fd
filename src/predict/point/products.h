// Internal to predict: the matrix products of an island bound to a point, and what their operands cost in shared
// memory.
#pragma once

#include <array>
#include <optional>

#include "base/checked.h"
#include "predict/point/bound_island.h"

namespace tilescope {

constexpr std::int64_t accumulator_bytes = 4;  // fp32, by the definition of the matrix instructions

// Contractions of two arrays; others (none are shipped) count as work without operands.
template <class Visit>
void for_each_product(const BoundIsland& bound, Visit visit);

Product product_of(const BoundIsland& bound, int op);
const Product* known_product(const BoundIsland& bound, int op);  // nullptr: it has to be worked out
double extent_of_step(const BoundIsland& bound, AxisId axis);    // elements along an axis
bool makes_scores(const BoundIsland& bound, const Product& product);
IslandFacts facts_of(const BoundIsland& bound);  // what later calls find in bound.facts
Format computes_in(const BoundIsland& bound, const Operator& op);
// The format in which a described kernel computes a product: what it states, or else the wider operand's.
Format described_format(const IslandImplementation& how, const Operator& op, const Point& point);

// The format to which threads convert the array's tiles in shared memory before products take them.
std::optional<Format> rewritten_as(const BoundIsland& bound, ArrayId id);
// Bits of an operand as instructions take it: those of 6 bits, and of 4 bits without a block format, in bytes.
int operand_bits(Format format);
// Bytes of an operand's tile as a product fetches it.
std::int64_t fetched_tile_bytes(const BoundIsland& bound, const Product& product, const Operand& operand);

// The nest in which an operator's program computes it: streams that its result awaits and that it has no axis of are
// one step. Nothing: the island's own.
std::optional<Nest> nest_of_operator(const BoundIsland& bound, int op);

// Whether an array lies in shared memory while the island runs: loaded there for a product, or passed through on
// demand.
bool in_shared_memory(const BoundIsland& bound, ArrayId id);
bool feeds_product(const BoundIsland& bound, ArrayId id);  // a product of the island takes it or a view of it
// Listed in through_smem, by its own name or its result's; of an assumed implementation, what warps need of each other.
bool passes_through_smem(const BoundIsland& bound, ArrayId id);

// Matrix instructions of a product side by side, the last of a row or column of them in part. Each fetches its own rows
// and columns, whatever another one fetched: operand A as often as there are columns of them, B as often as rows.
struct InstructionGrid {
  std::int64_t rows = 1, columns = 1;
};
inline InstructionGrid instruction_grid(std::int64_t rows, std::int64_t columns, const MmaShape& mma) {
  return {.rows = ceil_div(rows, mma.m), .columns = ceil_div(columns, mma.n)};
}

// Warps that issue products and hold the accumulators.
std::int64_t consumer_warps(const BoundIsland& bound);

// Copies of the array's tile that a block keeps in shared memory.
std::int64_t stages_of(const BoundIsland& bound, ArrayId id);
// Copies that a block holds of a tile that comes with every step, where the array has no number of its own.
std::int64_t stages_of_streams(const BoundIsland& bound);

template <class Visit>
void for_each_product(const BoundIsland& bound, Visit visit) {
  if (!bound.how.uses_tensor_cores()) return;
  for (const int op : bound.island.operators) {
    const Operator& candidate = bound.plan.schedule.diagram.operators[static_cast<std::size_t>(op)];
    if (candidate.kind != OperatorKind::contraction || candidate.inputs.size() != 2) continue;
    if (const Product* known = known_product(bound, op)) visit(*known);
    else visit(product_of(bound, op));
  }
}

}  // namespace tilescope
