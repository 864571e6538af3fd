#include "predict/traffic/register_traffic.h"

#include <array>

#include "base/checked.h"
#include "predict/point/products.h"
#include "predict/work/work.h"

namespace tilescope {
namespace {

// Operands that a warpgroup fetches into registers, not by its matrix instructions.
std::int64_t kept_operand_bytes(const BoundIsland& bound, const Terms& smem) {
  std::int64_t bytes = 0;
  for (const Term& term : smem)
    if ((term.cause == Cause::transpose && term.direction == Direction::read) ||
        (term.cause == Cause::operand && bound.variant &&
         bound.variant->holds(bound.plan.schedule.diagram.arrays[static_cast<std::size_t>(term.array)].name)))
      bytes = checked_add(bytes, term.bytes);
  return bytes;
}

}  // namespace

Terms register_terms(const BoundIsland& bound, const Work& work, const Terms& smem, const Terms& tmem,
                     std::pmr::memory_resource* memory) {
  std::int64_t read = 0, write = 0;
  std::int64_t fragments = sum_of(smem).operand_bytes;
  for_each_product(bound, [&](const Product& product) {
    if (bound.tensor_memory.used) return;  // its instructions take no register
    const MmaShape mma = product.mma;
    const std::int64_t width = operand_bits(product.computes_in),
                       flop = checked_mul(2, product_points(bound, product.op));
    const std::int64_t instructions = flop / (2 * mma.m * mma.n * mma.k), accumulator = 4 * mma.m * mma.n;
    const bool a = !product.wide || product.operands[0].kept ||
                   !product.operands[0].in_smem;  // a warpgroup's instruction reads the rest from smem
    const std::int64_t inputs = ((a ? mma.m * mma.k : 0) + (product.wide ? 0 : mma.k * mma.n)) * width / 8;
    read = checked_add(read, checked_mul(instructions, inputs + accumulator));
    write = checked_add(write, checked_mul(instructions, accumulator));
  });
  if (bound.how.path().warpgroup || bound.tensor_memory.used) fragments = kept_operand_bytes(bound, smem);
  static constexpr std::array<std::int64_t, arithmetic_pipes> operands{1, 3, 2, 2};
  std::int64_t pointwise_read = 0, pointwise_write = 0;
  for (std::size_t i = 0; i < arithmetic_pipes; ++i) {
    pointwise_read = checked_add(pointwise_read, checked_mul(work.pipes[i], 4 * operands[i]));
    pointwise_write = checked_add(pointwise_write, checked_mul(work.pipes[i], 4));
  }
  Terms terms = no_terms(memory);
  const auto add = [&](Cause cause, Direction direction, std::int64_t bytes) {
    add_term(bound, terms, {.boundary = Boundary::reg, .direction = direction, .cause = cause, .bytes = bytes});
  };
  add(Cause::mma, Direction::read, read), add(Cause::mma, Direction::write, write);
  add(Cause::fragments, Direction::write, fragments);
  for (const Term& term : tmem)
    if (term.cause == Cause::tensor_memory)
      add(term.cause, term.direction == Direction::read ? Direction::write : Direction::read, term.bytes);
  add(Cause::pointwise, Direction::read, pointwise_read), add(Cause::pointwise, Direction::write, pointwise_write);
  return terms;
}

}  // namespace tilescope
