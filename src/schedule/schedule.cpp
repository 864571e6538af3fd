#include "schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "config/reader.h"
#include "diagram/diagram_yaml.h"
#include "schedule/rewrite.h"
#include "schedule/schedule_text.h"

namespace tilescope {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t largest_tile = std::int64_t{1} << 40;

bool produced_by(const Diagram& diagram, const Island& island, ArrayId id) {
  const auto produces = [&](int op) { return contains(diagram.operators[static_cast<std::size_t>(op)].outputs, id); };
  return std::any_of(island.operators.begin(), island.operators.end(), produces);
}

std::vector<std::string> parameter_names(const Schedule& schedule) {
  std::vector<std::string> names;
  for (const Parameter& parameter : schedule.parameters) names.push_back(parameter.name);
  return names;
}

TileSize read_tile_size(const Node& node, const Schedule& schedule, bool parts) {
  const std::string text = node.text();
  if (text.empty()) return {};
  if (text.find_first_not_of("0123456789") == std::string::npos)
    return {.parameter = -1, .literal = node.integer(1, largest_tile), .parts = parts};
  const int parameter = schedule.find_parameter(text);
  if (parameter < 0)
    node.report(fmt::format("{} is a positive integer or a parameter of this schedule, found '{}'{}",
                            parts ? "a number of parts" : "a tile", text,
                            did_you_mean(text, parameter_names(schedule))));
  return {.parameter = parameter, .literal = 1, .parts = parts};
}

// `tile: 128` or, for a number of equal parts, `parts: 8`.
TileSize read_tile(const Node& loop, const Schedule& schedule) {
  const auto parts = loop.find("parts");
  if (!parts) return read_tile_size(loop["tile"], schedule, false);
  if (const auto tile = loop.find("tile")) tile->report("a loop has a tile or a number of parts, not both");
  return read_tile_size(*parts, schedule, true);
}

// nullopt after a finding about the axis or the partition.
std::optional<Loop> read_loop(const Node& node, const Schedule& schedule) {
  static const std::vector<std::string> partitions{"group", "stream"};
  node.only({"axis", "partition", "tile", "parts"});
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
  const TileSize tile = read_tile(node, schedule);
  if (!axis || !contains(partitions, given)) return std::nullopt;
  return Loop{*axis, given == "stream" ? Partition::stream : Partition::group, tile};
}

void read_operators(const Node& list, const Diagram& diagram, Island& island) {
  std::vector<std::string> names;
  for (const Operator& op : diagram.operators) names.push_back(op.name);
  for (const Node& item : list.items()) {
    const std::string name = item.text();
    if (name.empty()) continue;
    if (name == "all" && list.items().size() == 1) {
      for (std::size_t op = 0; op < names.size(); ++op) island.operators.push_back(static_cast<int>(op));
      return;
    }
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      item.report(
          fmt::format("'{}' is not an operator of diagram '{}'{}", name, diagram.name, did_you_mean(name, names)));
    else if (contains(island.operators, found - names.begin()))
      item.report(fmt::format("operator '{}' is already in this island", name));
    else island.operators.push_back(static_cast<int>(found - names.begin()));
  }
  if (list.is_list() && list.items().empty()) list.report("is an empty list; an island runs at least one operator");
}

void read_omits(const Node& list, const Schedule& schedule, Island& island) {
  for (const Node& item : list.items()) {
    const std::string array = item.text();
    if (array.empty()) continue;
    const auto id = schedule.diagram.find_array(array);
    if (id && produced_by(schedule.diagram, island, *id)) island.omits.push_back(*id);
    else item.report(fmt::format("'{}' is not an output of this island's operators", array));
  }
}

// Arrays that cancel out of all that the island computes, so that it does not load them.
void read_unread(const Node& list, const Schedule& schedule, Island& island) {
  for (const Node& item : list.items()) {
    const std::string array = item.text();
    if (array.empty()) continue;
    const auto id = schedule.diagram.find_array(array);
    if (id && schedule.reads(island, *id)) island.unread.push_back(*id);
    else item.report(fmt::format("'{}' is not an array that this island loads", array));
  }
}

// accumulates: {dQ: {by: atomic, as: acc, zeroed: true}}
void read_accumulates(const Node& map, Schedule& schedule, Island& island) {
  static const std::vector<std::string> ways{"rewriting", "atomic", "reduction"};
  for (const auto& [name, node] : map.entries()) {
    node.only({"by", "as", "zeroed"});
    const std::string by = node["by"].one_of(ways);
    const Node initialised = node["zeroed"];
    const bool zeroed = initialised.boolean(), not_zeroed = initialised.is_scalar() && initialised.text() == "false";
    const auto id = schedule.diagram.find_array(name);
    if (!id || !produced_by(schedule.diagram, island, *id)) {
      node.report(fmt::format("'{}' is not an output of this island's operators", name));
      continue;
    }
    Stored stored{.result = *id, .as = *id, .zeroed = zeroed};
    const auto way = std::find(ways.begin(), ways.end(), by);
    if (way != ways.end()) stored.by = static_cast<Accumulate>(way - ways.begin());
    if (stored.by != Accumulate::rewriting && not_zeroed)
      initialised.report("atomic additions and reductions add to an array that was zeroed before");
    if (const auto as = node.find("as")) stored.as = add_accumulator(schedule, *id, as->text());
    island.stored_as.push_back(stored);
  }
}

void read_loops(const Node& list, const Schedule& schedule, Island& island) {
  bool streamed = false;
  for (const Node& item : list.items()) {
    const std::optional<Loop> loop = read_loop(item, schedule);
    if (!loop) continue;
    const auto same_axis = [&](const Loop& other) { return other.axis == loop->axis; };
    const auto other = std::find_if(island.loops.begin(), island.loops.end(), same_axis);
    const bool chunks =
        other != island.loops.end() && other->partition == Partition::group && loop->partition == Partition::stream;
    if (other != island.loops.end() && !chunks)
      item.report("this axis already has a loop in the island; only a group may be cut again by a stream");
    if (loop->partition == Partition::group && streamed)
      item.report("group loops stand before all stream loops: they are the grid");
    streamed = streamed || loop->partition == Partition::stream;
    island.loops.push_back(*loop);
  }
  if (island.loops.size() > max_loops)
    list.report(fmt::format("an island may have at most {} loops, found {}", max_loops, island.loops.size()));
}

// An island that runs operators of the diagram, or that merges or converts what an earlier one left.
void read_island_work(const Node& node, Schedule& schedule, Island& island) {
  const auto merges = node.find("merges"), converts = node.find("converts");
  if (!merges && !converts) return read_operators(node["operators"], schedule.diagram, island);
  const Node& source = merges ? *merges : *converts;
  if (const auto extra = node.find("operators"))
    extra->report("an island runs operators, merges partial results or converts accumulators: one of the three");
  const std::string name = source.text();
  if (name.empty()) return;
  const int earlier = schedule.find_island(name);
  std::vector<std::string> names;
  for (const Island& other : schedule.islands) names.push_back(other.name);
  if (earlier < 0) return source.report(fmt::format("no earlier island '{}'{}", name, did_you_mean(name, names)));
  const Island from = schedule.islands[static_cast<std::size_t>(earlier)];
  if (merges) {
    const int op = add_merge(schedule, from);
    if (schedule.diagram.operators[static_cast<std::size_t>(op)].inputs.empty())
      source.report(
          fmt::format("island '{}' leaves no partial results; none of its groups is over a folded axis", from.name));
    island.operators.push_back(op);
    return;
  }
  for (const Stored& stored : from.stored_as)
    if (stored.as != stored.result) island.operators.push_back(add_conversion(schedule, stored));
  if (island.operators.empty())
    source.report(fmt::format("island '{}' has no accumulator of another format", from.name));
}

// A group over an axis that results fold over, and that they are not accumulated over, is a split.
void split_folds(const Node& node, const Primitives& primitives, Schedule& schedule, Island& island) {
  for (std::size_t l = 0; l < island.loops.size(); ++l) {
    if (island.loops[l].partition != Partition::group) continue;
    const AxisId axis = island.loops[l].axis;
    bool folded = false;
    for (std::size_t a = 0; a < primitives.diagram.arrays.size() && a < schedule.diagram.arrays.size(); ++a) {
      const auto id = static_cast<ArrayId>(static_cast<int>(a));
      const auto listed = [&](const Stored& stored) { return stored.as == id; };  // by `accumulates`
      if (primitives.producer(id) < 0 || !schedule.writes(island, id) ||
          std::any_of(island.stored_as.begin(), island.stored_as.end(), listed))
        continue;
      const std::vector<AxisId> axes = folded_axes(primitives, island, id);
      folded = folded || contains(axes, axis);
    }
    const auto again = [&](const Loop& other) { return &other != &island.loops[l] && other.axis == axis; };
    const bool cut_again = std::any_of(island.loops.begin(), island.loops.end(), again);
    if (folded) split_fold(schedule, primitives, island, l);
    else if (cut_again)
      node["loops"].report("no result of this island folds over an axis that has two loops; one is enough");
  }
}

Island read_island(const Node& node, const Primitives& primitives, Schedule& schedule, const Document& document) {
  node.only({"name", "operators", "merges", "converts", "omits", "unread", "accumulates", "update",
             "skips_masked_tiles", "loops"});
  Island island;
  island.name = node["name"].text();
  read_island_work(node, schedule, island);
  if (document.clean()) {
    if (const auto omits = node.find("omits")) read_omits(*omits, schedule, island);
    if (const auto unread = node.find("unread")) read_unread(*unread, schedule, island);
    if (const auto accumulates = node.find("accumulates")) read_accumulates(*accumulates, schedule, island);
  }
  if (const auto update = node.find("update")) island.merges_tiles = update->one_of({"rescale", "merge"}) == "merge";
  island.skips_masked_tiles = node["skips_masked_tiles"].boolean();
  read_loops(node["loops"], schedule, island);
  if (document.clean()) {  // after a finding, values may be placeholders
    split_folds(node, primitives, schedule, island);
    keep_state(schedule, primitives, island);
  }
  return island;
}

// Every operator runs somewhere, and what an island reads an earlier one wrote.
void check_islands(const Node& list, const Schedule& schedule) {
  const std::vector<Node> nodes = list.items();
  for (std::size_t op = 0; op < schedule.diagram.operators.size(); ++op) {
    const auto runs = [&](const Island& island) { return contains(island.operators, static_cast<int>(op)); };
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
      if (std::none_of(schedule.islands.begin(), end,
                       [&](const Island& earlier) { return schedule.writes(earlier, id); }))
        nodes[i].report(fmt::format("island '{}' reads '{}' before any island writes it", island.name,
                                    schedule.diagram.arrays[a].name));
    }
  }
}

// `diagram:` is a shipped name, a file (beside the schedule, or from the working directory), or the diagram itself.
Diagram read_own_diagram(const Document& document, const Node& node, const fs::path& beside, const fs::path& models) {
  if (node.is_map() && node.find("axes")) {
    node.only({"diagram", "summary", "sizes", "axes", "arrays", "operators", "guard"});
    return read_diagram(document, node);
  }
  const std::string given = node.is_scalar() ? node.text() : std::string();
  if (given.find('/') == std::string::npos && !given.ends_with(".yaml")) {
    const std::string name = node.one_of(shipped_names(models / "diagrams"));
    return document.clean() ? load_diagram(models / "diagrams" / (name + ".yaml")) : Diagram{};
  }
  std::error_code ignored;
  for (const fs::path& file : {beside / given, fs::path(given)})
    if (fs::exists(file, ignored)) return load_diagram(file);
  node.report(fmt::format("no file '{}'; expected a diagram's name, its file, or the diagram itself", given));
  return {};
}

Schedule read_schedule(const Document& document, const fs::path& beside, const fs::path& models_directory,
                       const std::string& other_diagram) {
  document.expect_schema("tilescope/schedule/1");
  const Node root = document.root();
  root.only({"schema", "schedule", "diagram", "summary", "parameters", "islands"});
  Schedule schedule;
  schedule.name = root["schedule"].text();
  schedule.summary = root["summary"].text();
  schedule.diagram = read_own_diagram(document, root["diagram"], beside, models_directory);
  if (!document.clean()) document.finish();
  if (!other_diagram.empty()) schedule.diagram = find_diagram(other_diagram, models_directory);
  const Node parameters = root["parameters"];
  for (const auto& [name, node] : parameters.entries())
    schedule.parameters.push_back({name, node.integer(1, largest_tile)});
  if (schedule.parameters.size() > max_parameters)
    parameters.report(
        fmt::format("a schedule may have at most {} parameters, found {}", max_parameters, schedule.parameters.size()));
  schedule.source = schedule.diagram;
  const Primitives primitives = expand(schedule.diagram);
  for (const Node& node : root["islands"].items()) {
    const bool follows = node.is_map() && (node.find("merges") || node.find("converts"));
    if (follows && !document.clean()) break;  // after a finding, what the earlier islands leave is not known
    schedule.islands.push_back(read_island(node, primitives, schedule, document));
  }
  if (root["islands"].is_list() && schedule.islands.empty())
    root["islands"].report("a schedule needs at least one island");
  if (document.clean()) check_islands(root["islands"], schedule);  // after a finding, values may be placeholders
  document.finish();
  return schedule;
}

}  // namespace

bool Schedule::reads(const Island& island, ArrayId id) const {
  const auto fetched = [&](ArrayId array_id) {
    const auto by = [&](int op) {
      const Operator& candidate = diagram.operators[static_cast<std::size_t>(op)];
      return contains(candidate.inputs, array_id) || contains(candidate.reads, array_id);
    };
    return std::any_of(island.operators.begin(), island.operators.end(), by);
  };
  if (contains(island.unread, id)) return false;
  const auto& whole = diagram.array(id).alias_of;
  return fetched(id) && !produced_by(diagram, island, id) &&
         !(whole && fetched(*whole));  // a view comes with its source
}

bool Schedule::writes(const Island& island, ArrayId id) const {
  for (const Stored& stored : island.stored_as) {
    if (stored.as == id) return true;
    if (stored.result == id) return false;
  }
  // Running state that another island exposed is stored by that one alone.
  if (!source.arrays.empty() && index(id) >= source.arrays.size() && diagram.array(id).role == ArrayRole::output)
    return false;
  if (!produced_by(diagram, island, id) || contains(island.omits, id)) return false;
  if (diagram.array(id).role == ArrayRole::output) return true;
  const auto reads_it = [&](const Island& other) { return other.name != island.name && reads(other, id); };
  return std::any_of(islands.begin(), islands.end(), reads_it);
}

Stored Schedule::how_stored(const Island& island, ArrayId id) const {
  for (const Stored& stored : island.stored_as)
    if (stored.as == id) return stored;
  return {.result = id, .as = id};
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

Schedule load_schedule(const fs::path& file, const fs::path& models_directory, const std::string& other_diagram) {
  return read_schedule(Document::load(file), file.parent_path(), models_directory, other_diagram);
}

Schedule parse_schedule(const std::string& text, const fs::path& models_directory) {
  return read_schedule(Document::parse(text, "schedule"), {}, models_directory, {});
}

Diagram find_diagram(const std::string& name_or_file, const fs::path& models_directory) {
  const fs::path shipped = models_directory / "diagrams" / (name_or_file + ".yaml");
  std::error_code ignored;
  if (name_or_file.find('/') == std::string::npos && fs::exists(shipped, ignored)) return load_diagram(shipped);
  if (fs::exists(name_or_file, ignored)) return load_diagram(name_or_file);
  throw InputError(
      Diagnostic{.path = "diagram",
                 .message = fmt::format("no diagram or file '{}'{}", name_or_file,
                                        did_you_mean(name_or_file, shipped_names(models_directory / "diagrams")))});
}

Schedule find_schedule(const std::string& name_or_file, const fs::path& models_directory,
                       const std::string& other_diagram) {
  const fs::path shipped = models_directory / "schedules" / (name_or_file + ".yaml");
  std::error_code ignored;
  if (name_or_file.find('/') == std::string::npos && fs::exists(shipped, ignored))
    return load_schedule(shipped, models_directory, other_diagram);
  if (fs::exists(name_or_file, ignored)) return load_schedule(name_or_file, models_directory, other_diagram);
  throw InputError(
      Diagnostic{.path = "--schedule",
                 .message = fmt::format("no schedule or file '{}'{}", name_or_file,
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
