#include "predict/point/products.h"

#include <algorithm>

#include "base/contains.h"
#include "predict/point/computed_format.h"
#include "predict/point/tensor_memory.h"

namespace tilescope {
namespace {

constexpr std::int64_t warpgroup = 4, widest_instruction = 256;

// A view lies where its source lies.
ArrayId source_of(const Diagram& diagram, ArrayId id) { return diagram.array(id).alias_of.value_or(id); }

// An assumed implementation keeps what its nest keeps, in registers; a built one what its variant says.
bool kept(const BoundIsland& bound, const std::string& array) {
  return bound.variant ? bound.variant->holds(array) : bound.plan.assumed && !bound.tensor_memory.used;
}

// Fetches of each operand's tile a step. A warp of mma.sync fetches its part of both once, an instruction of a
// warpgroup its own rows and columns.
void count_copies(const BoundIsland& bound, const ProductImplementation* own, std::int64_t rows, std::int64_t columns,
                  Product& product) {
  WarpGrid grid = own ? own->grid : WarpGrid{};
  if (bound.tensor_memory.used) grid = {.rows = ceil_div(rows, product.mma.m), .columns = 1, .depth = 1};
  const std::int64_t units = std::max<std::int64_t>(1, consumer_warps(bound) / (product.wide ? warpgroup : 1));
  if (grid.rows == 0) {
    const std::int64_t left = std::max<std::int64_t>(1, units / (std::max<std::int64_t>(1, grid.columns) * grid.depth));
    grid.rows = std::min(left, ceil_div(rows, product.mma.m));
    while (left % grid.rows != 0) --grid.rows;
  }
  if (grid.columns == 0) grid.columns = std::max<std::int64_t>(1, units / (grid.rows * grid.depth));
  if (product.mma.n == 0)
    product.mma.n = std::clamp<std::int64_t>(ceil_div(columns, grid.columns), 1, widest_instruction);
  Operand &a = product.operands[0], &b = product.operands[1];
  const InstructionGrid instructions = instruction_grid(rows, columns, product.mma);
  a.copies = product.wide && !a.kept ? instructions.columns : grid.columns;
  b.copies = product.wide ? instructions.rows : grid.rows;
  if (own) a.copies *= own->repeats, b.copies *= own->repeats;
}

// A product's instruction, the format it computes in and how warps share it, before where its operands lie.
Product shared_product(const BoundIsland& bound, int op) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const Operator& candidate = diagram.operators[static_cast<std::size_t>(op)];
  const ProductImplementation* own = bound.how.find_product(candidate.name);
  Product product{.op = op,
                  .operands = {},
                  .mma = own && own->mma ? *own->mma : bound.how.mma,
                  .computes_in = computes_in(bound, candidate)};
  const bool tensor_memory = bound.tensor_memory.used;
  product.wide = bound.how.path().warpgroup || tensor_memory;
  product.mma.k = std::max<std::int64_t>(1, product.mma.k * 16 / operand_bits(product.computes_in));
  const bool second =
      turned(bound, op) || (own && !own->rows_of.empty() && diagram.array(candidate.inputs[1]).name == own->rows_of);
  const ArrayId a = candidate.inputs[second ? 1 : 0], b = candidate.inputs[second ? 0 : 1];
  const auto operand = [&](ArrayId id) { return Operand{.id = id, .kept = kept(bound, diagram.array(id).name)}; };
  product.operands = {operand(a), operand(b)};
  if (product.wide) product.operands[1].kept = false;  // B is always read from shared memory
  const std::int64_t rows = side_extent(bound, diagram.array(a), diagram.array(b)),
                     columns = side_extent(bound, diagram.array(b), diagram.array(a));
  if (tensor_memory) product.mma.m = rows % all_lanes == 0 ? all_lanes : fewest_lanes, product.mma.n = 0;
  count_copies(bound, own, rows, columns, product);
  for (Operand& one : product.operands)
    if (own)
      if (const auto stated = own->fetches.find(diagram.array(one.id).name); stated != own->fetches.end())
        one.copies = stated->second;
  return product;
}

// Of an assumed implementation: several warps need parts of an array that others of them made, as where warps share the
// columns of O and each made scores of other keys, or an instruction needs it that takes only operand A from tensor
// memory. They pass it on through shared memory.
bool exchanged(const BoundIsland& bound, ArrayId id) {
  if (!bound.plan.assumed || !bound.how.uses_tensor_cores() || loads(bound, id)) return false;
  const auto& operators = bound.plan.schedule.diagram.operators;
  return std::any_of(bound.island.operators.begin(), bound.island.operators.end(), [&](int number) {
    const Operator& op = operators[static_cast<std::size_t>(number)];
    if (op.kind != OperatorKind::contraction || op.inputs.size() != 2 || !contains(op.inputs, id)) return false;
    if (bound.tensor_memory.used) return !operand_in_tensor_memory(bound, number, id);
    const Product product = shared_product(bound, number);
    return product.operands[product.operands[0].id == id ? 0 : 1].copies > 1;
  });
}

}  // namespace

std::int64_t consumer_warps(const BoundIsland& bound) {
  if (bound.how.warps > 0) return bound.how.warps;
  return bound.variant && bound.variant->consumer_warps > 0 ? bound.variant->consumer_warps : bound.point.warps;
}

std::int64_t stages_of(const BoundIsland& bound, ArrayId id) {
  const Array& array = bound.plan.schedule.diagram.array(id);
  if (const auto own = bound.how.stages_of.find(array.name); own != bound.how.stages_of.end()) return own->second;
  return bound.streams(id) && loads(bound, id) ? stages_of_streams(bound) : 1;
}

std::int64_t stages_of_streams(const BoundIsland& bound) {
  return bound.variant && bound.variant->stages > 0 ? bound.variant->stages : bound.how.stages;
}

bool feeds_product(const BoundIsland& bound, ArrayId id) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  for (const int op : bound.island.operators) {
    const Operator& candidate = diagram.operators[static_cast<std::size_t>(op)];
    if (candidate.kind != OperatorKind::contraction) continue;
    for (const ArrayId input : candidate.inputs)
      if (source_of(diagram, input) == id) return true;
  }
  return false;
}

bool passes_through_smem(const BoundIsland& bound, ArrayId id) {
  if (bound.facts->known) return IslandFacts::has(bound.facts->through_smem, id);
  const Diagram& diagram = bound.plan.schedule.diagram;
  if (exchanged(bound, id)) return true;
  if (bound.how.through_smem.empty()) return false;
  if (contains(bound.how.through_smem, diagram.array(id).name)) return true;
  const Stored how = bound.plan.schedule.how_stored(bound.island, id);
  return how.result != how.as && how.as == id && contains(bound.how.through_smem, diagram.array(how.result).name);
}

bool in_shared_memory(const BoundIsland& bound, ArrayId id) {
  if (bound.facts->known) return IslandFacts::has(bound.facts->in_smem, id);
  const Diagram& diagram = bound.plan.schedule.diagram;
  const ArrayId source = source_of(diagram, id);
  const std::string& name = diagram.array(source).name;
  if (passes_through_smem(bound, source)) return true;
  return loads(bound, source) && feeds_product(bound, source) && !contains(bound.how.direct, name);
}

double extent_of_step(const BoundIsland& bound, AxisId axis) {
  const BoundLoop* loop = bound.nest.loop_over(axis);
  return static_cast<double>(loop ? loop->tile : bound.nest.size(axis));
}

bool makes_scores(const BoundIsland& bound, const Product& product) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const Array& result = diagram.array(diagram.operators[static_cast<std::size_t>(product.op)].outputs.front());
  return diagram.guard && result.has(diagram.guard->query) && result.has(diagram.guard->key);
}

// Narrower inputs are converted before the multiply.
Format described_format(const IslandImplementation& how, const Operator& op, const Point& point) {
  const ProductImplementation* own = how.find_product(op.name);
  if (own && own->computes_in) return *own->computes_in;
  if (how.computes_in) return *how.computes_in;
  Format widest = point.dtypes[index(op.inputs.front())].format;
  for (const ArrayId id : op.inputs)
    if (const Format format = point.dtypes[index(id)].format; bits(format) > bits(widest)) widest = format;
  return widest == Format::fp32 ? Format::tf32 : widest;
}

Format computes_in(const BoundIsland& bound, const Operator& op) {
  for (std::size_t i = 0; i < bound.facts->product_count; ++i)
    if (const Product& known = bound.facts->products[i];
        &bound.plan.schedule.diagram.operators[static_cast<std::size_t>(known.op)] == &op)
      return known.computes_in;
  const ProductImplementation* own = bound.how.find_product(op.name);
  const bool stated = bound.how.computes_in || (own && own->computes_in);
  return bound.plan.assumed && !stated ? computed_format(bound, op).format
                                       : described_format(bound.how, op, bound.point);
}

const Product* known_product(const BoundIsland& bound, int op) {
  for (std::size_t i = 0; i < bound.facts->product_count; ++i)
    if (bound.facts->products[i].op == op) return &bound.facts->products[i];
  return nullptr;
}

namespace {

// Multiply-adds of a product in a step.
double multiply_adds_of(const BoundIsland& bound, const Operator& op) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const auto& inputs = op.inputs;
  const auto* own = bound.how.find_product(op.name);
  double size = own ? static_cast<double>(own->repeats) : 1;
  AxisBits counted = 0;
  for (const ArrayId id : inputs) {
    for (const AxisId axis : diagram.array(id).axes)
      if (id == inputs.front() || (counted & bit(axis)) == 0) size *= extent_of_step(bound, axis);
    if (id == inputs.front()) counted = bits(diagram.array(id).axes);
  }
  return size;
}

}  // namespace

Product product_of(const BoundIsland& bound, int op) {
  if (const Product* known = known_product(bound, op)) return *known;
  const Diagram& diagram = bound.plan.schedule.diagram;
  const ProductImplementation* own = bound.how.find_product(diagram.operators[static_cast<std::size_t>(op)].name);
  Product product = shared_product(bound, op);
  product.multiply_adds = multiply_adds_of(bound, diagram.operators[static_cast<std::size_t>(op)]);
  for (Operand& one : product.operands) {
    one.in_tmem = operand_in_tensor_memory(bound, op, one.id);
    one.in_smem = !one.in_tmem && in_shared_memory(bound, one.id) &&
                  !(own && contains(own->registers, diagram.array(one.id).name));
  }
  if (bound.plan.assumed)
    for (Operand& one : product.operands) {
      one.converted = loads(bound, source_of(diagram, one.id)) && needs_conversion(bound, one.id, product.computes_in);
      one.rewritten = one.converted && one.in_smem && one.copies > 1;
    }
  return product;
}

IslandFacts facts_of(const BoundIsland& bound) {
  IslandFacts facts;
  const std::size_t arrays = bound.plan.schedule.diagram.arrays.size();
  static_assert(max_arrays <= 64);
  for (std::size_t i = 0; i < arrays; ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (loads(bound, id)) facts.loads |= bit;
    if (stores(bound, id)) facts.stores |= bit;
    if (passes_through_smem(bound, id)) facts.through_smem |= bit;
    if (in_shared_memory(bound, id)) facts.in_smem |= bit;
    if (bound.streams(id)) facts.streams |= bit;
    if (fetched_every_step(bound, id)) facts.every_step |= bit;
    if (copied_in_bulk(bound, id)) facts.in_bulk |= bit;
    facts.awaits[i] = awaited_by_plan(bound, id);
  }
  facts.scores = score_array(bound), facts.output = output_array(bound);
  for_each_product(bound, [&](const Product& product) {
    if (facts.product_count < IslandFacts::most_products) facts.products[facts.product_count++] = product;
    for (const Operand& operand : product.operands) facts.any_rewritten = facts.any_rewritten || operand.rewritten;
  });
  facts.known = true;
  return facts;
}

int operand_bits(Format format) {
  const FormatRow& row = properties(format);
  return row.exponent > 0 && row.element == format ? std::max(8, row.bits) : row.bits == 6 ? 8 : row.bits;
}

std::int64_t fetched_tile_bytes(const BoundIsland& bound, const Product& product, const Operand& operand) {
  if (!operand.rewritten) return tile_bytes(bound, operand.id);
  return ceil_div(checked_mul(tile_values(bound, operand.id), bits(product.computes_in)), 8);
}

std::optional<Nest> nest_of_operator(const BoundIsland& bound, int op) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const Operator& own = diagram.operators[static_cast<std::size_t>(op)];
  std::uint32_t awaited = bound.awaited(own.outputs.front());
  if (awaited == 0) return std::nullopt;
  AxisBits axes = 0;
  for (const auto* arrays : {&own.inputs, &own.outputs})
    for (const ArrayId id : *arrays) axes |= bits(diagram.array(id).axes);
  for (std::size_t l = 0; l < bound.nest.loop_count; ++l)
    if (Nest::carries(axes, bound.nest.loops[l])) awaited &= ~(std::uint32_t{1} << l);
  return awaited == 0 ? std::nullopt : std::optional(in_one_step(bound.nest, awaited));
}

std::optional<Format> rewritten_as(const BoundIsland& bound, ArrayId id) {
  std::optional<Format> format;
  if (!bound.plan.assumed || (bound.facts->known && !bound.facts->any_rewritten)) return format;
  const Diagram& diagram = bound.plan.schedule.diagram;
  for_each_product(bound, [&](const Product& product) {
    for (const Operand& operand : product.operands)
      if (operand.rewritten && source_of(diagram, operand.id) == id &&
          (!format || bits(product.computes_in) > bits(*format)))
        format = product.computes_in;
  });
  return format;
}

}  // namespace tilescope
