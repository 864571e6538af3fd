// Islands of a descriptor: how one launch moves and computes.
#include "base/contains.h"
#include "kernel/descriptor/read_fields.h"

namespace tilescope::reading {
namespace {

constexpr double most_operations = 1000;

std::vector<std::pair<std::string, double>> read_element_rates(const Node& map, const Diagram& diagram) {
  std::vector<std::pair<std::string, double>> rates;
  for (const auto& [array, node] : map.entries()) {
    check_array(node, array, diagram);
    rates.emplace_back(array, node.number(0, most_operations));
  }
  return rates;
}

WorkRates read_rates(const Node& node, const Diagram& diagram) {
  node.only({"per_score", "per_masked_score", "per_row_step", "per_row", "per_output_step", "per_output",
             "per_thread_step", "per_element", "per_element_step"});
  const auto rate = [&](const char* key) {
    const auto found = node.find(key);
    return found ? found->number(0, most_operations) : 0.0;
  };
  const auto elements = [&](const char* key) {
    const auto found = node.find(key);
    return found ? read_element_rates(*found, diagram) : std::vector<std::pair<std::string, double>>{};
  };
  return {.per_score = rate("per_score"),
          .per_row_step = rate("per_row_step"),
          .per_row = rate("per_row"),
          .per_output_step = rate("per_output_step"),
          .per_output = rate("per_output"),
          .per_masked_score = rate("per_masked_score"),
          .per_thread_step = rate("per_thread_step"),
          .per_element = elements("per_element"),
          .per_element_step = elements("per_element_step")};
}

void read_work(const Node& node, const Diagram& diagram, IslandImplementation& island) {
  node.only(kind_names<Pipe>());
  for (const NamedKind<Pipe>& pipe : EnumTable<Pipe>::rows)
    if (const auto rates = node.find(pipe.name))
      island.work[static_cast<std::size_t>(pipe.value)] = read_rates(*rates, diagram);
}

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
                                   const Diagram& diagram) {
  node.only({"rows_of", "grid", "registers", "mma", "computes_in", "fetches", "parts"});
  ProductImplementation product{
      .op = name, .rows_of = {}, .grid = {}, .registers = {}, .mma = {}, .computes_in = {}, .fetches = {}, .parts = 1};
  if (const auto rows = node.find("rows_of"))
    if (check_operand(*rows, rows->text(), op, diagram)) product.rows_of = rows->text();
  if (const auto grid = node.find("grid")) product.grid = read_grid(*grid);
  if (const auto registers = node.find("registers"))
    for (const Node& item : registers->items())
      if (check_operand(item, item.text(), op, diagram)) add_once(product.registers, item.text(), item);
  if (const auto mma = node.find("mma")) product.mma = read_mma(*mma);
  if (const auto format = node.find("computes_in")) product.computes_in = read_format(*format);
  if (const auto fetches = node.find("fetches"))
    for (const auto& [array, count] : fetches->entries())
      if (check_operand(count, array, op, diagram)) product.fetches[array] = count.integer(1, 64);
  if (const auto parts = node.find("parts")) product.parts = parts->integer(1, 64);
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
    out.products.push_back(
        read_product(name, node, *std::find_if(diagram.operators.begin(), diagram.operators.end(), named), diagram));
  }
}

// Where arrays lie and how they move.
void read_movement(const Node& node, const Diagram& diagram, IslandImplementation& island) {
  const auto names = [&](const char* key, std::vector<std::string>& list) {
    if (const auto found = node.find(key)) list = read_array_names(*found, diagram);
  };
  names("direct", island.direct), names("loads_every_step", island.loads_every_step),
      names("loaded_by_threads", island.loaded_by_threads), names("through_smem", island.through_smem);
  names("transposes", island.transposes), names("reductions", island.reductions), names("zeroes", island.zeroes);
  if (const auto by = node.find("loads_by"))
    island.loads_by = read_kind<CopyPath>(*by, kind_names<CopyPath>([](const auto& row) { return row.loads; }));
  if (const auto by = node.find("stores_by"))
    island.stores_by = read_kind<CopyPath>(*by, kind_names<CopyPath>([](const auto& row) { return row.stores; }));
  if (const auto staged = node.find("output_through_smem")) island.output_through_smem = staged->boolean();
  if (const auto stages = node.find("stages")) island.stages = stages->integer(1, 64);
  if (const auto stages = node.find("stages_of"))
    for (const auto& [array, count] : stages->entries()) {
      check_array(count, array, diagram);
      island.stages_of[array] = count.integer(1, 64);
    }
  if (const auto bytes = node.find("smem_extra_bytes")) island.smem_extra_bytes = bytes->integer(0, 1 << 30);
  if (const auto multiple = node.find("stops_at_last_key")) island.stops_at_last_key = multiple->integer(1, 4096);
  if (const auto narrow = node.find("narrow_scores")) {
    narrow->only({"rows", "keys"});
    island.narrow_scores = {.rows = (*narrow)["rows"].integer(1, 4096), .keys = (*narrow)["keys"].integer(1, 4096)};
  }
  if (const auto bytes = node.find("mask_entry_bytes")) island.mask_entry_bytes = bytes->integer(1, 64);
}

// Who works on a row, on which rows, for how many steps.
void read_rows(const Node& node, const Diagram& diagram, IslandImplementation& island) {
  if (const auto steps = node.find("steps")) {
    steps->only({"least", "most"});
    if (const auto least = steps->find("least")) island.steps.least = least->integer(1, 1 << 20);
    if (const auto most = steps->find("most")) island.steps.most = most->integer(1, 1 << 20);
  }
  if (const auto replication = node.find("row_replication")) island.row_replication = replication->integer(1, 1024);
  if (const auto threads = node.find("row_threads")) {
    threads->only({"columns", "multiple"});
    island.row_threads.columns = (*threads)["columns"].integer(1, 4096);
    if (const auto multiple = threads->find("multiple")) island.row_threads.multiple = multiple->integer(1, 1024);
    if (node.find("row_replication")) threads->report("says what 'row_replication' says too; remove one");
  }
  if (const auto lanes = node.find("step_lanes")) island.step_lanes = lanes->integer(1, 1024);
  if (const auto existing = node.find("existing_rows")) island.existing_rows = existing->boolean();
  if (const auto reads = node.find("sector_reads"))
    for (const auto& [array, times] : reads->entries()) {
      check_array(times, array, diagram);
      island.sector_reads[array] = times.integer(1, 64);
    }
}

void check_axis(const Node& node, const std::string& axis, const Diagram& diagram) {
  if (diagram.find_axis(axis)) return;
  std::vector<std::string> names;
  for (const Axis& each : diagram.axes) names.push_back(each.name);
  node.report(fmt::format("'{}' is not an axis of diagram '{}'{}", axis, diagram.name, did_you_mean(axis, names)));
}

// {d: {64: 40, 128: 72}}: numbers by the size of one axis.
BySize read_by_size(const Node& node, const Diagram& diagram, std::int64_t least, std::int64_t most) {
  BySize by;
  for (const auto& [axis, sizes] : node.entries()) {
    check_axis(sizes, axis, diagram);
    if (!by.axis.empty()) node.report("goes by the size of one axis; remove the others");
    by.axis = axis;
    for (const auto& [size, number] : sizes.entries()) {
      const bool digits =
          !size.empty() && size.size() < 10 && size.find_first_not_of("0123456789") == std::string::npos;
      if (!digits) number.report(fmt::format("'{}' is not a size; expected a positive integer", size));
      by.numbers[digits ? std::stoll(size) : 0] = number.integer(least, most);
    }
  }
  return by;
}

void read_computed(const Node& node, const Diagram& diagram, IslandImplementation& island) {
  if (const auto multiples = node.find("computes_multiples"))
    for (const auto& [axis, multiple] : multiples->entries()) {
      check_axis(multiple, axis, diagram);
      island.computes_multiples[axis] = multiple.integer(1, 4096);
    }
  if (const auto sizes = node.find("computes_sizes"))
    for (const auto& [axis, list] : sizes->entries()) {
      check_axis(list, axis, diagram);
      auto& own = island.computes_sizes[axis];
      for (const Node& size : list.items()) own.push_back(size.integer(1, 1 << 20));
      std::sort(own.begin(), own.end());
    }
}

// Grid dimensions, each once. False: an entry names none.
bool read_dimensions(const Node& list, std::vector<GridDimension>& dimensions) {
  bool all_known = true;
  for (const Node& item : list.items())
    if (const auto dimension = find_kind<GridDimension>(item)) add_once(dimensions, *dimension, item);
    else all_known = false;
  return all_known;
}

Sections read_sections(const Node& node, const Diagram& diagram) {
  node.only({"when", "order", "arrays", "l2_share", "bytes", "equal", "smaller"});
  Sections sections;
  if (const auto when = node.find("when")) sections.when = read_kind<When>(*when);
  const bool all_known = read_dimensions(node["order"], sections.order);
  if (!sections.order.empty() && all_known && !contains(sections.order, GridDimension::heads))
    node["order"].report("must name 'heads', which sections are cut from");
  sections.arrays = read_array_names(node["arrays"], diagram);
  const auto share = node.find("l2_share"), bytes = node.find("bytes");
  if (share) sections.l2_share = share->number(0.001, 1);
  if (bytes) sections.bytes = bytes->integer(1, std::int64_t{1} << 40);
  if (share.has_value() == bytes.has_value())
    node.report("needs either 'l2_share' or 'bytes': what the arrays of a section may take together");
  if (const auto equal = node.find("equal")) sections.equal = equal->boolean();
  if (const auto smaller = node.find("smaller")) sections.smaller_first = smaller->one_of({"last", "first"}) == "first";
  return sections;
}

void read_blocks(const Node& node, const Diagram& diagram, IslandImplementation& island) {
  if (const auto persistent = node.find("persistent")) island.persistent = persistent->boolean();
  read_dimensions(node["block_order"], island.block_order);
  if (const auto falling = node.find("falling")) {
    falling->only(kind_names<GridDimension>());
    for (const auto& [name, when] : falling->entries())
      if (const auto dimension = parse_kind<GridDimension>(name)) island.falling[*dimension] = read_kind<When>(when);
  }
  if (const auto sections = node.find("sections")) island.sections = read_sections(*sections, diagram);
}

Rounds read_rounds(const Node& node, const Diagram& diagram) {
  node.only({"depth", "waits", "shared_waits", "bank_waits", "waits_of", "shared_waits_of", "bank_waits_of"});
  Rounds rounds;
  rounds.depth = node["depth"].integer(1, 4096);
  for (const auto& [array, times] : node["waits"].entries()) {
    check_array(times, array, diagram);
    rounds.loads.push_back({array, {times.integer(1, 64), {}}});
  }
  if (const auto by = node.find("waits_of"))
    for (const auto& [array, sizes] : by->entries()) {
      const auto loads = std::find_if(rounds.loads.begin(), rounds.loads.end(),
                                      [&name = array](const RoundLoads& each) { return each.array == name; });
      if (loads == rounds.loads.end())
        sizes.report(fmt::format("'{}' is not in 'waits'; name it there with the number for other sizes", array));
      else loads->times.by = read_by_size(sizes, diagram, 1, 64);
    }
  const auto read = [&](const std::string& key, std::int64_t most, Times& times) {
    if (const auto always = node.find(key.c_str())) times.always = always->integer(0, most);
    if (const auto by = node.find((key + "_of").c_str())) times.by = read_by_size(*by, diagram, 0, most);
  };
  read("shared_waits", 4096, rounds.shared_waits), read("bank_waits", 65536, rounds.bank_waits);
  return rounds;
}

Waits read_waits(const Node& node, const Diagram& diagram) {
  node.only({"loads", "shuffles", "barriers"});
  Waits waits;
  for (const auto& [array, how] : node["loads"].entries()) {
    check_array(how, array, diagram);
    how.only({"lanes", "columns", "group", "times"});
    WaitLoads& loads = waits.loads.emplace_back(WaitLoads{.array = array});
    const auto number = [&, at = how](const char* key, std::int64_t& value) {
      if (const auto found = at.find(key)) value = found->integer(1, 4096);
    };
    number("lanes", loads.lanes), number("columns", loads.columns), number("group", loads.group),
        number("times", loads.times);
  }
  if (const auto shuffles = node.find("shuffles")) waits.shuffles = shuffles->integer(0, 4096);
  if (const auto barriers = node.find("barriers")) waits.barriers = barriers->integer(0, 4096);
  return waits;
}

}  // namespace

IslandImplementation read_island(const Node& node, const Schedule& schedule) {
  node.only({"name",
             "stores_log_sum_exp",
             "writes_masked_rows",
             "row_store",
             "row_load",
             "tensor_path",
             "mma",
             "computes_in",
             "products",
             "direct",
             "loads_every_step",
             "loaded_by_threads",
             "through_smem",
             "transposes",
             "reductions",
             "loads_by",
             "stores_by",
             "steps",
             "row_replication",
             "row_threads",
             "step_lanes",
             "existing_rows",
             "sector_reads",
             "row_multiple",
             "computes_multiples",
             "computes_sizes",
             "warps",
             "registers",
             "registers_of",
             "stages",
             "stages_of",
             "smem_extra_bytes",
             "stops_at_last_key",
             "narrow_scores",
             "mask_entry_bytes",
             "output_through_smem",
             "zeroes",
             "special_parts",
             "persistent",
             "block_order",
             "falling",
             "sections",
             "overlap",
             "rounds",
             "waits",
             "early_launch",
             "stall_clocks",
             "loads_in_product",
             "loads_first",
             "work"});
  IslandImplementation island;
  std::vector<std::string> names;
  for (const Island& candidate : schedule.islands) names.push_back(candidate.name);
  island.name = node["name"].one_of(names);
  if (const auto stores = node.find("stores_log_sum_exp")) island.stores_log_sum_exp = stores->boolean();
  if (const auto writes = node.find("writes_masked_rows")) island.writes_masked_rows = writes->boolean();
  if (const auto rows = node.find("row_store")) island.row_store = rows->integer(1, 1024);
  if (const auto rows = node.find("row_load")) island.row_load = rows->integer(1, 1024);
  const auto path = find_kind<TensorPath>(node["tensor_path"]);
  island.tensor_path = path.value_or(TensorPath::none);
  if (const auto mma = node.find("mma")) island.mma = read_mma(*mma);
  else if (island.uses_tensor_cores()) node.report("a tensor path needs the instruction's shape 'mma: {m, n, k}'");
  if (const auto format = node.find("computes_in")) island.computes_in = read_format(*format);
  if (const auto products = node.find("products"); products && node.find("name") && is_one_of(node["name"], names))
    if (const int number = schedule.find_island(island.name); number >= 0)
      read_products(*products, schedule.islands[static_cast<std::size_t>(number)], schedule.diagram, island);
  read_movement(node, schedule.diagram, island);
  read_rows(node, schedule.diagram, island);
  if (const auto multiple = node.find("row_multiple")) island.row_multiple = multiple->integer(1, 1 << 20);
  read_computed(node, schedule.diagram, island);
  if (const auto parts = node.find("special_parts")) island.special_parts = parts->integer(1, 1 << 20);
  if (const auto warps = node.find("warps")) island.warps = warps->integer(1, 32);
  if (const auto registers = node.find("registers")) island.registers = registers->integer(1, 255);
  if (const auto registers = node.find("registers_of"))
    island.registers_of = read_by_size(*registers, schedule.diagram, 1, 255);
  read_blocks(node, schedule.diagram, island);
  if (const auto overlap = node.find("overlap")) island.overlap = read_kind<Overlap>(*overlap);
  if (const auto stalls = node.find("stall_clocks")) island.stall_clocks = stalls->number(1, 15);
  if (const auto first = node.find("loads_first")) island.loads_first = read_array_names(*first, schedule.diagram);
  if (const auto own = node.find("loads_in_product")) island.loads_in_product = own->boolean();
  if (const auto rounds = node.find("rounds")) island.rounds = read_rounds(*rounds, schedule.diagram);
  if (const auto waits = node.find("waits")) island.waits = read_waits(*waits, schedule.diagram);
  if (const auto early = node.find("early_launch")) island.early_launch = early->boolean();
  if (const auto work = node.find("work")) read_work(*work, schedule.diagram, island);
  return island;
}

}  // namespace tilescope::reading
