// Of an island, what machine code, the launch or the host's code tell: `facts` of a summary of code.
#include <algorithm>

#include "base/contains.h"
#include "kernel/descriptor/read_fields.h"

namespace tilescope {

const std::vector<std::string>& found_of_launch() {
  static const std::vector<std::string> keys{"steps",
                                             "row_store",
                                             "row_load",
                                             "row_threads",
                                             "row_multiple",
                                             "step_lanes",
                                             "existing_rows",
                                             "sector_reads",
                                             "computes_multiples",
                                             "computes_sizes",
                                             "warps",
                                             "registers",
                                             "registers_of",
                                             "smem_extra_bytes",
                                             "stops_at_last_key",
                                             "narrow_scores",
                                             "own_last_tile",
                                             "transposes",
                                             "reductions",
                                             "zeroes",
                                             "stores_by",
                                             "loaded_by_threads",
                                             "mask_entry_bytes",
                                             "sections",
                                             "early_launch",
                                             "loads_in_product",
                                             "loads_early",
                                             "loads_first",
                                             "work"};
  return keys;
}

}  // namespace tilescope

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
  node.only({"per_score", "per_masked_score", "per_padded_score", "per_row_step", "per_row", "per_output_step",
             "per_output", "per_thread_step", "per_element", "per_element_step"});
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
          .per_padded_score = rate("per_padded_score"),
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

// The same, as far as the machine code or the launch tell.
void read_found_movement(const Node& node, const Diagram& diagram, IslandImplementation& island) {
  const auto names = [&](const char* key, std::vector<std::string>& list) {
    if (const auto found = node.find(key)) list = read_array_names(*found, diagram);
  };
  names("loaded_by_threads", island.loaded_by_threads), names("transposes", island.transposes);
  names("reductions", island.reductions), names("zeroes", island.zeroes);
  if (const auto by = node.find("stores_by"))
    island.stores_by = read_kind<CopyPath>(*by, kind_names<CopyPath>([](const auto& row) { return row.stores; }));
  if (const auto bytes = node.find("smem_extra_bytes")) island.smem_extra_bytes = bytes->integer(0, 1 << 30);
  if (const auto multiple = node.find("stops_at_last_key")) island.stops_at_last_key = multiple->integer(1, 4096);
  if (const auto narrow = node.find("narrow_scores")) {
    narrow->only({"rows", "keys"});
    island.narrow_scores = {.rows = (*narrow)["rows"].integer(1, 4096), .keys = (*narrow)["keys"].integer(1, 4096)};
  }
  if (const auto rows = node.find("own_last_tile")) island.own_last_tile = rows->integer(1, 4096);
  if (const auto bytes = node.find("mask_entry_bytes")) island.mask_entry_bytes = bytes->integer(1, 64);
}

// Who works on a row, on which rows, for how many steps.
void read_rows(const Node& node, const Diagram& diagram, IslandImplementation& island) {
  if (const auto steps = node.find("steps")) {
    steps->only({"least", "most"});
    if (const auto least = steps->find("least")) island.steps.least = least->integer(1, 1 << 20);
    if (const auto most = steps->find("most")) island.steps.most = most->integer(1, 1 << 20);
  }
  if (const auto threads = node.find("row_threads")) {
    threads->only({"columns", "multiple"});
    island.row_threads.columns = (*threads)["columns"].integer(1, 4096);
    if (const auto multiple = threads->find("multiple")) island.row_threads.multiple = multiple->integer(1, 1024);
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

}  // namespace

bool read_dimensions(const Node& list, std::vector<GridDimension>& dimensions) {
  bool all_known = true;
  for (const Node& item : list.items())
    if (const auto dimension = find_kind<GridDimension>(item)) add_once(dimensions, *dimension, item);
    else all_known = false;
  return all_known;
}

void refuse_found(const Node& node, const std::vector<std::string>& keys, const char* place) {
  if (!node.is_map()) return;
  for (const auto& [key, value] : node.entries())
    if (contains(keys, key))
      value.report(fmt::format("is no key of a descriptor: code or the launch tells it; state it in {}", place));
}

void read_found(const Node& node, const Schedule& schedule, IslandImplementation& island) {
  std::vector<std::string> known = found_of_launch();
  known.emplace_back("launch");
  node.only(known);
  if (const auto rows = node.find("row_store")) island.row_store = rows->integer(1, 1024);
  if (const auto rows = node.find("row_load")) island.row_load = rows->integer(1, 1024);
  read_found_movement(node, schedule.diagram, island);
  read_rows(node, schedule.diagram, island);
  if (const auto multiple = node.find("row_multiple")) island.row_multiple = multiple->integer(1, 1 << 20);
  read_computed(node, schedule.diagram, island);
  if (const auto warps = node.find("warps")) island.warps = warps->integer(1, 32);
  if (const auto registers = node.find("registers")) island.registers = registers->integer(1, 255);
  if (const auto registers = node.find("registers_of"))
    island.registers_of = read_by_size(*registers, schedule.diagram, 1, 255);
  if (const auto sections = node.find("sections")) island.sections = read_sections(*sections, schedule.diagram);
  if (const auto first = node.find("loads_first")) island.loads_first = read_array_names(*first, schedule.diagram);
  if (const auto own = node.find("loads_in_product")) island.loads_in_product = own->boolean();
  if (const auto early = node.find("loads_early")) island.loads_early = read_array_names(*early, schedule.diagram);
  if (const auto early = node.find("early_launch")) island.early_launch = early->boolean();
  if (const auto work = node.find("work")) read_work(*work, schedule.diagram, island);
}

}  // namespace tilescope::reading
