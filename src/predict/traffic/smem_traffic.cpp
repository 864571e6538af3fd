#include "predict/traffic/smem_traffic.h"

#include <algorithm>

#include "base/checked.h"
#include "base/contains.h"
#include "predict/point/products.h"

namespace tilescope {
namespace {

Term smem_term(const BoundIsland& bound, ArrayId id, Direction direction, Cause cause, bool resident = true) {
  const Axes axes = bound.plan.schedule.diagram.array(id).axes;
  return {.boundary = Boundary::smem,
          .direction = direction,
          .cause = cause,
          .array = static_cast<int>(id),
          .last_loop = last_loop(bound.nest, axes, resident)};
}

void add_fill(const BoundIsland& bound, Terms& out, ArrayId id) {
  if (!loads(bound, id) || !in_shared_memory(bound, id)) return;
  const bool kept = !fetched_every_step(bound, id);
  Term fill = smem_term(bound, id, Direction::write, Cause::fill, kept);
  fill.bytes = touched_bytes(bound, id, {.resident = kept, .whole_tiles = true}), fill.bulk = copied_in_bulk(bound, id);
  add_term(bound, out, fill);
}

// A tile that arrives in the wrong order for its product, of this island or of a later one, passes through registers
// once: read and written back whole.
void add_transposition(const BoundIsland& bound, Terms& out, ArrayId id) {
  if (!contains(bound.how.transposes, bound.plan.schedule.diagram.array(id).name)) return;
  if (!loads(bound, id) || (bound.how.uses_tensor_cores() && !in_shared_memory(bound, id))) return;
  const bool kept = !fetched_every_step(bound, id);
  Term term = smem_term(bound, id, Direction::read, Cause::transpose, kept);
  term.bytes = touched_bytes(bound, id, {.resident = kept, .whole_tiles = true});
  add_term(bound, out, term);
  term.direction = Direction::write;
  add_term(bound, out, term);
}

// Threads read a tile that has arrived, convert it, and write it back for products to fetch.
void add_rewriting(const BoundIsland& bound, Terms& out, ArrayId id) {
  const auto format = rewritten_as(bound, id);
  if (!format) return;
  Term term = smem_term(bound, id, Direction::read, Cause::conversion);
  term.bytes = touched_bytes(bound, id, {.whole_tiles = true});
  add_term(bound, out, term);
  const std::int64_t values =
      touched_values(bound.nest, bound.whole, bound.plan.schedule.diagram.array(id).axes, {.whole_tiles = true});
  term.direction = Direction::write, term.bytes = ceil_div(checked_mul(values, bits(*format)), 8);
  add_term(bound, out, term);
}

void add_operands(const BoundIsland& bound, Terms& out) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  std::array<bool, max_arrays> fetched{};  // kept operands are fetched for the first product that takes them
  for_each_product(bound, [&](const Product& product) {
    const std::optional<Nest> own = nest_of_operator(bound, product.op);
    const Nest& nest = own ? *own : bound.nest;
    std::optional<NestSums> own_sums;
    if (own && own->guarded()) own_sums = sums_of(*own, true);
    const NestSums& sums = own_sums ? *own_sums : sums_of_product(bound, product.op);
    for (const Operand& operand : product.operands) {
      if (!operand.in_smem || (operand.kept && fetched[index(operand.id)])) continue;
      fetched[index(operand.id)] = true;
      Term term = smem_term(bound, operand.id, Direction::read, Cause::operand, operand.kept);
      const std::int64_t values =
          touched_values(nest, sums, diagram.array(operand.id).axes, {.resident = operand.kept, .whole_tiles = true});
      if (operand.rewritten) {
        term.bytes = checked_mul(ceil_div(checked_mul(values, bits(product.computes_in)), 8), operand.copies);
        add_term(bound, out, term);
        continue;
      }
      const std::int64_t all = checked_mul(bytes_of(bound.point, diagram, operand.id, values), operand.copies);
      term.bytes = checked_mul(value_bytes_of(bound.point, diagram, operand.id, values), operand.copies);
      add_term(bound, out, term);
      term.cause = Cause::scales, term.bytes = all - term.bytes;  // threads load them, matrix instructions do not
      add_term(bound, out, term);
    }
  });
}

// A result that is read, updated and written comes back the way its operands come: copied in, fetched as a fragment.
void add_return(const BoundIsland& bound, Terms& out, ArrayId id, const Visits& found) {
  const Stored how = bound.plan.schedule.how_stored(bound.island, id);
  if (how.by != Accumulate::rewriting) return;
  Term term = smem_term(bound, id, Direction::write, Cause::fill);
  term.bytes =
      bytes_of(bound.point, bound.plan.schedule.diagram, id, how.zeroed ? found.visits : found.visits - found.distinct);
  term.bulk = copied_in_bulk(bound, id);
  add_term(bound, out, term);
  term.direction = Direction::read, term.cause = Cause::operand, term.bulk = false;
  add_term(bound, out, term);
}

// A result, or an array that the island makes and uses: stored by threads, then read back or taken by a product.
void add_staging(const BoundIsland& bound, Terms& out, ArrayId id) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const bool main = bound.how.output_through_smem && static_cast<int>(id) == output_array(bound),
             stored = stores(bound, id);
  if (!(main && stored) && !passes_through_smem(bound, id)) return;
  if (loads(bound, id)) {  // filled by a copy; what no product takes, threads read
    if (feeds_product(bound, id)) return;
    Term term = smem_term(bound, id, Direction::read, Cause::staging, false);
    term.bytes = touched_bytes(bound, id, {.resident = false, .whole_tiles = true});
    return add_term(bound, out, term);
  }
  Term term = smem_term(bound, id, Direction::write, Cause::staging);
  if (!stored) {  // only products read it
    term.bytes = touched_bytes(bound, id, {.whole_tiles = true});
    return add_term(bound, out, term);
  }
  const Visits found = visits_of(bound, id, true);
  term.bytes = bytes_of(bound.point, diagram, id, found.visits);
  add_term(bound, out, term);
  term.direction = Direction::read, term.bulk = bound.how.store().bulk;
  add_term(bound, out, term);
  add_return(bound, out, id, found);
}

}  // namespace

Terms smem_terms(const BoundIsland& bound, std::pmr::memory_resource* memory) {
  Terms out = no_terms(memory);
  const std::size_t arrays = bound.plan.schedule.diagram.arrays.size();
  const auto each = [&](auto visit) {
    for (std::size_t i = 0; i < arrays; ++i) visit(bound, out, static_cast<ArrayId>(static_cast<int>(i)));
  };
  const bool modelled = bound.how.uses_tensor_cores();  // else where tiles lie is not known
  if (modelled) each(add_fill);
  each(add_transposition);
  if (modelled) each(add_rewriting);
  if (modelled) add_operands(bound, out);
  if (modelled) each(add_staging);
  return out;
}

}  // namespace tilescope
