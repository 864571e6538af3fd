// Islands of a descriptor: how one launch moves and computes.
#include "base/contains.h"
#include "kernel/descriptor/read_fields.h"

namespace tilescope::reading {
namespace {

MmaShape read_mma(const Node& node) {
  node.only({"m", "n", "k"});
  const Node n = node["n"];
  const bool columns = n.is_scalar() && n.exists() && n.text() == "columns";
  return {node["m"].integer(1, 1024), columns ? 0 : n.integer(1, 1024), node["k"].integer(1, 1024)};
}

std::optional<Format> read_format(const Node& node) {
  const std::string name = node.text();
  if (name.empty()) return std::nullopt;
  if (const auto format = parse_format(name)) return format;
  node.report(fmt::format("'{}' is not a number format{}", name, did_you_mean(name, dtype_names())));
  return std::nullopt;
}

WarpGrid read_grid(const Node& node) {
  node.only({"rows", "columns", "depth"});
  WarpGrid grid;
  const auto side = [&](const char* key, std::int64_t& value) {
    if (const auto found = node.find(key)) value = found->integer(1, 64);
  };
  side("rows", grid.rows), side("columns", grid.columns), side("depth", grid.depth);
  return grid;
}

// An operand of the product.
bool check_operand(const Node& node, const std::string& name, const Operator& op, const Diagram& diagram) {
  std::vector<std::string> inputs;
  for (const ArrayId id : op.inputs) inputs.push_back(diagram.array(id).name);
  const bool known = contains(inputs, name);
  if (!known && !name.empty())
    node.report(fmt::format("'{}' is not an operand of '{}'{}", name, op.name, did_you_mean(name, inputs)));
  return known;
}

ProductImplementation read_product(const std::string& name, const Node& node, const Operator& op,
                                   const Diagram& diagram, TensorPath path) {
  node.only({"rows_of", "grid", "mma", "fetches", "parts", "repeats"});
  ProductImplementation product{
      .op = name, .rows_of = {}, .grid = {}, .registers = {}, .mma = {}, .computes_in = {}, .fetches = {}};
  if (const auto rows = node.find("rows_of"))
    if (check_operand(*rows, rows->text(), op, diagram)) product.rows_of = rows->text();
  if (const auto grid = node.find("grid")) product.grid = read_grid(*grid);
  if (const auto mma = node.find("mma")) product.mma = read_mma(*mma), check_mma(*mma, path, *product.mma);
  if (const auto fetches = node.find("fetches"))
    for (const auto& [array, count] : fetches->entries()) {
      if (!check_operand(count, array, op, diagram)) continue;
      const std::int64_t times = count.integer(0, 64);
      if (times > 0) product.fetches[array] = times;
      else product.registers.push_back(array);
    }
  if (const auto parts = node.find("parts")) product.parts = parts->integer(1, 64);
  if (const auto repeats = node.find("repeats")) product.repeats = repeats->integer(1, 64);
  return product;
}

void read_products(const Node& map, const Island& island, const Diagram& diagram, IslandImplementation& out) {
  std::vector<std::string> known;
  for (const int op : island.operators)
    if (diagram.operators[static_cast<std::size_t>(op)].kind == OperatorKind::contraction)
      known.push_back(diagram.operators[static_cast<std::size_t>(op)].name);
  for (const auto& [name, node] : map.entries()) {
    if (!contains(known, name)) {
      node.report(fmt::format("'{}' is not a product of island '{}'{}", name, island.name, did_you_mean(name, known)));
      continue;
    }
    const auto named = [&, wanted = name](const Operator& op) { return op.name == wanted; };
    out.products.push_back(read_product(name, node,
                                        *std::find_if(diagram.operators.begin(), diagram.operators.end(), named),
                                        diagram, out.tensor_path));
  }
}

// Where arrays lie and how they move.
void read_movement(const Node& node, const Diagram& diagram, IslandImplementation& island) {
  const auto names = [&](const char* key, std::vector<std::string>& list) {
    if (const auto found = node.find(key)) list = read_array_names(*found, diagram);
  };
  names("direct", island.direct), names("loads_every_step", island.loads_every_step),
      names("through_smem", island.through_smem);
  if (const auto by = node.find("loads_by"))
    island.loads_by = read_kind<CopyPath>(*by, kind_names<CopyPath>([](const auto& row) { return row.loads; }));
  if (const auto staged = node.find("output_through_smem")) island.output_through_smem = staged->boolean();
  if (const auto stages = node.find("stages")) island.stages = stages->integer(1, 64);
  if (const auto stages = node.find("stages_of"))
    for (const auto& [array, count] : stages->entries()) {
      check_array(count, array, diagram);
      island.stages_of[array] = count.integer(1, 64);
    }
}

void read_blocks(const Node& node, const Schedule& schedule, IslandImplementation& island) {
  if (const auto persistent = node.find("persistent")) island.persistent = persistent->boolean();
  const Node order = node["block_order"];
  const bool known = read_dimensions(order, island.block_order) && order.is_list() &&
                     order.items().size() == island.block_order.size();  // each once
  if (const int number = schedule.find_island(island.name); known && number >= 0)
    check_block_order(order, schedule, schedule.islands[static_cast<std::size_t>(number)], island.block_order);
  if (const auto falling = node.find("falling")) {
    falling->only(kind_names<GridDimension>());
    for (const auto& [name, when] : falling->entries())
      if (const auto dimension = parse_kind<GridDimension>(name)) island.falling[*dimension] = read_kind<When>(when);
  }
}

const std::vector<std::string> stated{"name",
                                      "stores_log_sum_exp",
                                      "writes_masked_rows",
                                      "tensor_path",
                                      "mma",
                                      "computes_in",
                                      "products",
                                      "direct",
                                      "loads_every_step",
                                      "through_smem",
                                      "loads_by",
                                      "stages",
                                      "stages_of",
                                      "output_through_smem",
                                      "persistent",
                                      "block_order",
                                      "falling",
                                      "row_replication",
                                      "overlap"};

}  // namespace

IslandImplementation read_island(const Node& node, const Schedule& schedule) {
  refuse_found(node, found_of_launch(), "'facts' of 'code'");
  std::vector<std::string> known = stated;
  known.insert(known.end(), found_of_launch().begin(), found_of_launch().end());
  node.only(known);
  IslandImplementation island;
  std::vector<std::string> names;
  for (const Island& candidate : schedule.islands) names.push_back(candidate.name);
  island.name = node["name"].one_of(names);
  if (const auto stores = node.find("stores_log_sum_exp")) island.stores_log_sum_exp = stores->boolean();
  if (const auto writes = node.find("writes_masked_rows")) island.writes_masked_rows = writes->boolean();
  const auto path = find_kind<TensorPath>(node["tensor_path"]);
  island.tensor_path = path.value_or(TensorPath::none);
  if (const auto mma = node.find("mma")) island.mma = read_mma(*mma), check_mma(*mma, island.tensor_path, island.mma);
  else if (island.uses_tensor_cores()) node.report("a tensor path needs the instruction's shape 'mma: {m, n, k}'");
  if (const auto format = node.find("computes_in")) island.computes_in = read_format(*format);
  if (const auto products = node.find("products"); products && node.find("name") && is_one_of(node["name"], names))
    if (const int number = schedule.find_island(island.name); number >= 0)
      read_products(*products, schedule.islands[static_cast<std::size_t>(number)], schedule.diagram, island);
  read_movement(node, schedule.diagram, island);
  if (const auto replication = node.find("row_replication")) island.row_replication = replication->integer(1, 1024);
  read_blocks(node, schedule, island);
  if (const auto overlap = node.find("overlap")) island.overlap = read_kind<Overlap>(*overlap);
  return island;
}

}  // namespace tilescope::reading
