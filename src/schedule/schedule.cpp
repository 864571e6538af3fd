#include "schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "config/reader.h"

namespace tilescope {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t largest_tile = std::int64_t{1} << 40;

bool contains(const std::vector<ArrayId>& ids, ArrayId id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

bool produced_by(const Diagram& diagram, const Island& island, ArrayId id) {
  const auto produces = [&](int op) { return contains(diagram.operators[static_cast<std::size_t>(op)].outputs, id); };
  return std::any_of(island.operators.begin(), island.operators.end(), produces);
}

std::vector<std::string> parameter_names(const Schedule& schedule) {
  std::vector<std::string> names;
  for (const Parameter& parameter : schedule.parameters) names.push_back(parameter.name);
  return names;
}

TileSize read_tile(const Node& node, const Schedule& schedule) {
  const std::string text = node.text();
  if (text.empty()) return {};
  if (text.find_first_not_of("0123456789") == std::string::npos) return {.parameter = -1, .literal = node.integer(1, largest_tile)};
  const int parameter = schedule.find_parameter(text);
  if (parameter < 0)
    node.report(fmt::format("a tile is a positive integer or a parameter of this schedule, found '{}'{}", text,
                            did_you_mean(text, parameter_names(schedule))));
  return {.parameter = parameter, .literal = 1};
}

// nullopt after a finding about the axis or the partition.
std::optional<Loop> read_loop(const Node& node, const Schedule& schedule) {
  static const std::vector<std::string> partitions{"group", "stream"};
  node.only({"axis", "partition", "tile"});
  const std::string axis_name = node["axis"].text();
  const auto axis = schedule.diagram.find_axis(axis_name);
  std::vector<std::string> axes;
  for (const Axis& candidate : schedule.diagram.axes) axes.push_back(candidate.name);
  if (!axis && !axis_name.empty())
    node["axis"].report(fmt::format("'{}' is not an axis of diagram '{}'{}", axis_name, schedule.diagram.name,
                                    did_you_mean(axis_name, axes)));
  const Node partition = node["partition"];
  partition.one_of(partitions);
  const std::string given = partition.is_scalar() ? partition.text() : std::string();
  const TileSize tile = read_tile(node["tile"], schedule);
  if (!axis || std::find(partitions.begin(), partitions.end(), given) == partitions.end()) return std::nullopt;
  return Loop{*axis, given == "stream" ? Partition::stream : Partition::group, tile};
}

void read_operators(const Node& list, const Diagram& diagram, Island& island) {
  std::vector<std::string> names;
  for (const Operator& op : diagram.operators) names.push_back(op.name);
  for (const Node& item : list.items()) {
    const std::string name = item.text();
    if (name.empty()) continue;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      item.report(fmt::format("'{}' is not an operator of diagram '{}'{}", name, diagram.name, did_you_mean(name, names)));
    else if (std::find(island.operators.begin(), island.operators.end(), found - names.begin()) != island.operators.end())
      item.report(fmt::format("operator '{}' is already in this island", name));
    else island.operators.push_back(static_cast<int>(found - names.begin()));
  }
  if (list.is_list() && list.items().empty()) list.report("is an empty list; an island runs at least one operator");
}

Island read_island(const Node& node, const Schedule& schedule) {
  node.only({"name", "operators", "omits", "skips_masked_tiles", "loops"});
  Island island;
  island.name = node["name"].text();
  read_operators(node["operators"], schedule.diagram, island);
  if (const auto omits = node.find("omits"))
    for (const Node& item : omits->items()) {
      const std::string array = item.text();
      if (array.empty()) continue;
      const auto id = schedule.diagram.find_array(array);
      if (id && produced_by(schedule.diagram, island, *id)) island.omits.push_back(*id);
      else if (island.operators.size() == node["operators"].items().size()) item.report(fmt::format("'{}' is not an output of this island's operators", array));
    }
  island.skips_masked_tiles = node["skips_masked_tiles"].boolean();
  bool streamed = false;
  for (const Node& item : node["loops"].items()) {
    const std::optional<Loop> loop = read_loop(item, schedule);
    if (!loop) continue;
    const auto same_axis = [&](const Loop& other) { return other.axis == loop->axis; };
    if (std::any_of(island.loops.begin(), island.loops.end(), same_axis)) item.report("this axis already has a loop in the island");
    if (loop->partition == Partition::group && streamed) item.report("group loops stand before all stream loops: they are the grid");
    streamed = streamed || loop->partition == Partition::stream;
    island.loops.push_back(*loop);
  }
  if (island.loops.size() > max_loops)
    node["loops"].report(fmt::format("an island may have at most {} loops, found {}", max_loops, island.loops.size()));
  return island;
}

// Every operator runs somewhere, and what an island reads an earlier one wrote.
void check_islands(const Node& list, const Schedule& schedule) {
  const std::vector<Node> nodes = list.items();
  for (std::size_t op = 0; op < schedule.diagram.operators.size(); ++op) {
    const auto runs = [&](const Island& island) {
      return std::find(island.operators.begin(), island.operators.end(), static_cast<int>(op)) != island.operators.end();
    };
    if (std::none_of(schedule.islands.begin(), schedule.islands.end(), runs))
      list.report(fmt::format("no island runs operator '{}'; add it to one", schedule.diagram.operators[op].name));
  }
  for (std::size_t i = 0; i < schedule.islands.size(); ++i) {
    const Island& island = schedule.islands[i];
    if (schedule.find_island(island.name) != static_cast<int>(i))
      nodes[i]["name"].report(fmt::format("island '{}' is already described; names must differ", island.name));
    for (std::size_t a = 0; a < schedule.diagram.arrays.size(); ++a) {
      const auto id = static_cast<ArrayId>(static_cast<int>(a));
      if (schedule.diagram.arrays[a].role == ArrayRole::input || !schedule.reads(island, id)) continue;
      const auto end = schedule.islands.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::none_of(schedule.islands.begin(), end, [&](const Island& earlier) { return schedule.writes(earlier, id); }))
        nodes[i].report(fmt::format("island '{}' reads '{}' before any island writes it", island.name, schedule.diagram.arrays[a].name));
    }
  }
}

}  // namespace

bool Schedule::reads(const Island& island, ArrayId id) const {
  const auto consumes = [&](int op) { return contains(diagram.operators[static_cast<std::size_t>(op)].inputs, id); };
  return std::any_of(island.operators.begin(), island.operators.end(), consumes) && !produced_by(diagram, island, id);
}

bool Schedule::writes(const Island& island, ArrayId id) const {
  if (!produced_by(diagram, island, id) || contains(island.omits, id)) return false;
  if (diagram.array(id).role == ArrayRole::output) return true;
  const auto reads_it = [&](const Island& other) { return &other != &island && reads(other, id); };
  return std::any_of(islands.begin(), islands.end(), reads_it);
}

int Schedule::find_parameter(const std::string& parameter_name) const {
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].name == parameter_name) return static_cast<int>(i);
  return -1;
}

int Schedule::find_island(const std::string& island_name) const {
  for (std::size_t i = 0; i < islands.size(); ++i)
    if (islands[i].name == island_name) return static_cast<int>(i);
  return -1;
}

Schedule load_schedule(const fs::path& file, const fs::path& models_directory) {
  const Document document = Document::load(file);
  document.expect_schema("tilescope/schedule/1");
  const Node root = document.root();
  root.only({"schema", "schedule", "diagram", "summary", "parameters", "islands"});
  Schedule schedule;
  schedule.name = root["schedule"].text();
  schedule.summary = root["summary"].text();
  const Node diagram = root["diagram"];
  const std::string diagram_name = diagram.one_of(shipped_names(models_directory / "diagrams"));
  if (!document.clean()) document.finish();
  schedule.diagram = load_diagram(models_directory / "diagrams" / (diagram_name + ".yaml"));
  const Node parameters = root["parameters"];
  for (const auto& [name, node] : parameters.entries()) schedule.parameters.push_back({name, node.integer(1, largest_tile)});
  if (schedule.parameters.size() > max_parameters)
    parameters.report(fmt::format("a schedule may have at most {} parameters, found {}", max_parameters, schedule.parameters.size()));
  for (const Node& node : root["islands"].items()) schedule.islands.push_back(read_island(node, schedule));
  if (root["islands"].is_list() && schedule.islands.empty()) root["islands"].report("a schedule needs at least one island");
  if (document.clean()) check_islands(root["islands"], schedule);  // after a finding, values may be placeholders
  document.finish();
  return schedule;
}

Schedule find_schedule(const std::string& name_or_file, const fs::path& models_directory) {
  const fs::path shipped = models_directory / "schedules" / (name_or_file + ".yaml");
  std::error_code ignored;
  if (name_or_file.find('/') == std::string::npos && fs::exists(shipped, ignored)) return load_schedule(shipped, models_directory);
  if (fs::exists(name_or_file, ignored)) return load_schedule(name_or_file, models_directory);
  throw InputError(Diagnostic{.path = "--schedule", .message = fmt::format("no schedule or file '{}'{}", name_or_file,
                                  did_you_mean(name_or_file, shipped_names(models_directory / "schedules")))});
}

std::vector<std::string> shipped_names(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tilescope
