#include "predict/traffic/tmem_traffic.h"

#include <algorithm>

#include "base/checked.h"
#include "predict/point/products.h"
#include "predict/point/tensor_memory.h"
#include "predict/work/work.h"

namespace tilescope {
namespace {

Term tmem_term(const BoundIsland& bound, ArrayId id, Direction direction, Cause cause, std::int64_t bytes) {
  const Axes axes = bound.plan.schedule.diagram.array(id).axes;
  return {.boundary = Boundary::tmem,
          .direction = direction,
          .cause = cause,
          .array = static_cast<int>(id),
          .last_loop = last_loop(bound.nest, axes),
          .bytes = bytes};
}

// A step changes the accumulators of a result that stays through the stream, as one that rescales them does.
bool changed_by_steps(const BoundIsland& bound, ArrayId result) {
  if (bound.streams(result)) return false;
  const std::vector<AxisId>& axes = bound.plan.schedule.diagram.array(result).axes;
  const auto& groups = bound.plan.operations[static_cast<std::size_t>(bound.number)].groups;
  return std::any_of(groups.begin(), groups.end(), [&](const OperationGroup& group) {
    return group.when == Moment::step && group.axes.size() == axes.size() &&
           std::is_permutation(axes.begin(), axes.end(), group.axes.begin());
  });
}

void add_result(const BoundIsland& bound, const Product& product, Terms& out) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const ArrayId result = diagram.operators[static_cast<std::size_t>(product.op)].outputs.front();
  const std::vector<AxisId>& axes = diagram.array(result).axes;
  const MmaShape mma = product.mma;
  const std::int64_t instructions = checked_mul(2, product_points(bound, product.op)) / (2 * mma.m * mma.n * mma.k);
  const std::int64_t accumulated = checked_mul(instructions, accumulator_bytes * mma.m * mma.n);
  const NestSums& sums = sums_of_product(bound, product.op);
  const std::int64_t complete =
      checked_mul(touched_values(bound.nest, sums, axes, {.whole_tiles = true}), accumulator_bytes);
  const auto add = [&](Direction direction, Cause cause, std::int64_t bytes) {
    add_term(bound, out, tmem_term(bound, result, direction, cause, bytes));
  };
  add(Direction::write, Cause::mma, accumulated);
  add(Direction::read, Cause::mma, std::max<std::int64_t>(0, accumulated - complete));
  add(Direction::read, Cause::tensor_memory, complete);
  if (!changed_by_steps(bound, result)) return;
  const std::int64_t steps =
      checked_mul(touched_values(bound.nest, sums, axes, {.resident = false, .whole_tiles = true}), accumulator_bytes);
  add(Direction::read, Cause::tensor_memory, steps), add(Direction::write, Cause::tensor_memory, steps);
}

// Operand A that threads make: stored once a tile, read by each instruction that takes it.
void add_operand(const BoundIsland& bound, const Product& product, std::array<bool, max_arrays>& stored, Terms& out) {
  const Operand& a = product.operands[0];
  if (!a.in_tmem) return;
  const std::vector<AxisId>& axes = bound.plan.schedule.diagram.array(a.id).axes;
  const std::int64_t values =
      touched_values(bound.nest, sums_of_product(bound, product.op), axes, {.resident = false, .whole_tiles = true});
  const std::int64_t bytes = ceil_div(checked_mul(values, operand_bits(product.computes_in)), 8);
  add_term(bound, out, tmem_term(bound, a.id, Direction::read, Cause::mma, checked_mul(bytes, a.copies)));
  if (stored[index(a.id)]) return;
  stored[index(a.id)] = true;
  add_term(bound, out, tmem_term(bound, a.id, Direction::write, Cause::tensor_memory, bytes));
}

}  // namespace

Terms tmem_terms(const BoundIsland& bound, std::pmr::memory_resource* memory) {
  Terms out = no_terms(memory);
  if (!bound.tensor_memory.used) return out;
  std::array<bool, max_arrays> stored{};
  for_each_product(bound, [&](const Product& product) {
    add_result(bound, product, out);
    add_operand(bound, product, stored, out);
  });
  return out;
}

}  // namespace tilescope
