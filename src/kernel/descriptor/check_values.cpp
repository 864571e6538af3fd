// Values of a descriptor that no kernel of its schedule can have.
#include "kernel/descriptor/grid_dimension.h"
#include "kernel/descriptor/instruction_shapes.h"
#include "kernel/descriptor/read_fields.h"

namespace tilescope::reading {
namespace {

constexpr std::int64_t warpgroup = 4;

// After a finding a value may be a placeholder.
bool is_number(const Node& node, std::int64_t value) {
  return node.is_scalar() && node.exists() && node.text() == std::to_string(value);
}

std::vector<const IslandImplementation*> implementations(const KernelDescriptor& kernel) {
  std::vector<const IslandImplementation*> all;
  for (const auto* list : {&kernel.islands, &kernel.others})
    for (const IslandImplementation& how : *list) all.push_back(&how);
  return all;
}

void check_warps(const Node& node, const IslandImplementation& how, std::int64_t warps) {
  const bool wide = how.path().warpgroup;
  if (wide && warps % warpgroup != 0)
    return node.report(
        fmt::format("{} warps of island '{}' execute {}, which takes whole warpgroups: state a multiple of {}", warps,
                    how.name, how.path().name, warpgroup));
  if (!how.uses_tensor_cores()) return;
  const std::int64_t units = warps / (wide ? warpgroup : 1);
  for (const ProductImplementation& product : how.products) {
    const std::int64_t parts = std::max<std::int64_t>(1, product.grid.rows) *
                               std::max<std::int64_t>(1, product.grid.columns) * product.grid.depth;
    if (parts > units)
      node.report(
          fmt::format("{} {} cannot share product '{}' of island '{}' in {} parts; state more warps or a smaller "
                      "grid of the product (rows x columns x depth)",
                      units, wide ? "warpgroups" : "warps", product.op, how.name, parts));
  }
}

// Array names that products take as operands.
std::vector<std::string> operands(const Diagram& diagram) {
  std::vector<std::string> names;
  for (const Operator& op : diagram.operators) {
    if (op.kind != OperatorKind::contraction || op.inputs.size() != 2) continue;
    for (const ArrayId input : op.inputs)
      for (const ArrayId id : {input, diagram.array(input).alias_of.value_or(input)})
        if (!contains(names, diagram.array(id).name)) names.push_back(diagram.array(id).name);
  }
  return names;
}

}  // namespace

void check_mma(const Node& node, TensorPath path, const MmaShape& shape) {
  if (!node.is_map()) return;
  const auto read = [&](const char* key, std::int64_t value) {
    const auto found = node.find(key);
    return found && is_number(*found, value);
  };
  if (!read("m", shape.m) || !read("k", shape.k) || !(shape.n == 0 || read("n", shape.n))) return;
  const std::string expected = expected_shape(path, shape);
  if (!expected.empty())
    node.report(fmt::format("{} has no instruction of this shape; expected {} (k of 16-bit operands)",
                            properties(path).name, expected));
}

void check_block_order(const Node& list, const Schedule& schedule, const Island& island,
                       const std::vector<GridDimension>& order) {
  std::vector<GridDimension> grid;
  for (const Loop& loop : island.loops) {
    const Axis& axis = schedule.diagram.axes[index(loop.axis)];
    const GridDimension dimension = grid_dimension(schedule.diagram, loop.axis);
    const bool sized = axis.extent || axis.chunks_of;
    if (loop.partition == Partition::group && sized && !contains(grid, dimension)) grid.push_back(dimension);
  }
  for (const GridDimension dimension : order)
    if (!contains(grid, dimension))
      list.report(
          fmt::format("'{}' is no dimension of the grid of island '{}' of schedule '{}', whose blocks have {}; "
                      "remove it",
                      to_string(dimension), island.name, schedule.name, join(to_strings(grid), ", ")));
  for (const GridDimension dimension : grid)
    if (!contains(order, dimension))
      list.report(fmt::format("lacks '{}', a dimension of the grid of island '{}' of schedule '{}'; add it",
                              to_string(dimension), island.name, schedule.name));
}

void check_variant(const Node& node, const Schedule& schedule, const KernelDescriptor& kernel,
                   const KernelVariant& variant) {
  const std::vector<std::string> held = operands(schedule.diagram);
  for (const std::string& name : variant.registers_hold)
    if (!contains(held, name))
      node["registers_hold"].report(
          fmt::format("'{}' is no operand of a product, and accumulators are in registers anyway: remove it", name));
  for (const IslandImplementation* how : implementations(kernel))
    if (how->warps == 0) check_warps(node, *how, variant.consumer_warps > 0 ? variant.consumer_warps : variant.warps);
}

void check_head_dims(const Node& root, const KernelDescriptor& kernel) {
  const auto list = root.find("head_dims");
  if (!list) return;
  for (const Node& item : list->items()) {
    const auto serves = [&](const KernelVariant& variant) {
      return variant.head_dim == 0 || is_number(item, variant.head_dim);
    };
    if (std::none_of(kernel.variants.begin(), kernel.variants.end(), serves))
      item.report(fmt::format("no variant has head_dim {}; add one, or remove the size here", item.text()));
  }
}

}  // namespace tilescope::reading
