#include "diagram/diagram.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/reader.h"

namespace tilescope {
namespace {

template <class Range>
std::vector<std::string> names_of(const Range& range) {
  std::vector<std::string> names;
  for (const auto& item : range) names.push_back(item.name);
  return names;
}

template <class Id, class Range>
std::optional<Id> position(const Range& range, const std::string& name) {
  for (std::size_t i = 0; i < range.size(); ++i)
    if (range[i].name == name) return static_cast<Id>(static_cast<int>(i));
  return std::nullopt;
}

std::optional<AxisId> read_axis(const Node& node, const Diagram& diagram) {
  const std::string name = node.text();
  const auto id = diagram.find_axis(name);
  if (!id && !name.empty())
    node.report(fmt::format("'{}' is not an axis of this diagram{}", name, did_you_mean(name, names_of(diagram.axes))));
  return id;
}

std::vector<ArrayId> read_arrays(const Node& list, const Diagram& diagram) {
  std::vector<ArrayId> ids;
  for (const Node& item : list.items()) {
    const std::string name = item.text();
    const auto id = diagram.find_array(name);
    if (id && std::find(ids.begin(), ids.end(), *id) != ids.end()) item.report(fmt::format("'{}' is listed twice", name));
    if (id) ids.push_back(*id);
    else if (!name.empty()) item.report(fmt::format("'{}' is not an array of this diagram{}", name, did_you_mean(name, names_of(diagram.arrays))));
  }
  if (list.is_list() && ids.empty() && list.items().empty()) list.report("is an empty list; name at least one array");
  return ids;
}

void read_axes(const Node& map, Diagram& diagram) {
  for (const auto& [name, node] : map.entries()) {
    node.only({"size"});
    const Node size = node["size"];
    const auto extent = parse_extent(size.one_of(extent_names()));
    diagram.axes.push_back({name, extent.value_or(Extent::batch)});
  }
  if (diagram.axes.size() > max_axes) map.report(fmt::format("a diagram may have at most {} axes, found {}", max_axes, diagram.axes.size()));
}

void read_array_list(const Node& map, Diagram& diagram) {
  static const std::vector<std::string> roles{"input", "interior", "output"};
  for (const auto& [name, node] : map.entries()) {
    node.only({"axes", "role", "dtype"});
    Array array{.name = name, .axes = {}, .role = ArrayRole::input, .dtype_key = node["dtype"].text()};
    for (const Node& axis : node["axes"].items()) {
      const auto id = read_axis(axis, diagram);
      if (id && array.has(*id)) axis.report("axis appears twice in this array");
      if (id) array.axes.push_back(*id);
    }
    const std::string role = node["role"].one_of(roles);
    if (role == "interior") array.role = ArrayRole::interior;
    if (role == "output") array.role = ArrayRole::output;
    const Node axes = node["axes"];
    if (axes.is_list() && axes.items().empty()) axes.report("is an empty list; an array has at least one axis");
    diagram.arrays.push_back(std::move(array));
  }
  if (diagram.arrays.size() > max_arrays)
    map.report(fmt::format("a diagram may have at most {} arrays, found {}", max_arrays, diagram.arrays.size()));
}

Operator read_operator(const Node& node, const Diagram& diagram) {
  static const std::vector<std::string> kinds{"contraction", "softmax"};
  node.only({"name", "kind", "along", "inputs", "outputs"});
  Operator op{.name = node["name"].text(), .kind = OperatorKind::contraction, .along = {}, .inputs = {}, .outputs = {}};
  const Node kind = node["kind"];
  const bool known = kind.is_scalar() && std::find(kinds.begin(), kinds.end(), kind.text()) != kinds.end();
  if (kind.one_of(kinds) == "softmax") {
    op.kind = OperatorKind::softmax;
    op.along = read_axis(node["along"], diagram);
  } else if (const auto along = node.find("along"); along && known) {
    along->report("only a softmax has an 'along' axis");
  }
  op.inputs = read_arrays(node["inputs"], diagram);
  op.outputs = read_arrays(node["outputs"], diagram);
  if (known && op.kind == OperatorKind::contraction && op.outputs.size() > 1)
    node["outputs"].report(fmt::format("a contraction has one output, found {}", op.outputs.size()));
  return op;
}

// Every array has exactly the writers its role allows, and is written before it is read.
void check_order(const Node& operators, const Diagram& diagram) {
  std::vector<int> writers(diagram.arrays.size(), 0);
  const std::vector<Node> nodes = operators.items();
  for (std::size_t i = 0; i < diagram.operators.size() && i < nodes.size(); ++i) {
    for (const ArrayId id : diagram.operators[i].inputs)
      if (diagram.array(id).role != ArrayRole::input && writers[index(id)] == 0)
        nodes[i].report(fmt::format("reads '{}' before any operator writes it", diagram.array(id).name));
    for (const ArrayId id : diagram.operators[i].outputs) ++writers[index(id)];
    const auto along = diagram.operators[i].along;
    const Array& first_input = diagram.array(diagram.operators[i].inputs.front());
    if (along && !first_input.has(*along)) nodes[i]["along"].report(fmt::format("array '{}' has no such axis", first_input.name));
  }
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const Array& array = diagram.arrays[i];
    const int expected = array.role == ArrayRole::input ? 0 : 1;
    if (writers[i] != expected)
      operators.report(fmt::format("array '{}' must be written by {} operator, found {}", array.name,
                                   expected == 0 ? "no" : "one", writers[i]));
  }
}

}  // namespace

bool Array::has(AxisId axis) const { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

std::optional<AxisId> Diagram::find_axis(const std::string& axis_name) const { return position<AxisId>(axes, axis_name); }
std::optional<ArrayId> Diagram::find_array(const std::string& array_name) const {
  return position<ArrayId>(arrays, array_name);
}

std::vector<AxisId> Diagram::axes_of(const Operator& op) const {
  std::vector<AxisId> found;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto id = static_cast<AxisId>(static_cast<int>(i));
    const auto uses = [&](ArrayId array_id) { return array(array_id).has(id); };
    if (std::any_of(op.inputs.begin(), op.inputs.end(), uses) || std::any_of(op.outputs.begin(), op.outputs.end(), uses))
      found.push_back(id);
  }
  return found;
}

Diagram load_diagram(const std::filesystem::path& file) {
  const Document document = Document::load(file);
  document.expect_schema("tilescope/diagram/1");
  const Node root = document.root();
  root.only({"schema", "diagram", "summary", "axes", "arrays", "operators", "guard"});
  Diagram diagram;
  diagram.name = root["diagram"].text();
  diagram.summary = root["summary"].text();
  read_axes(root["axes"], diagram);
  read_array_list(root["arrays"], diagram);
  const Node operators = root["operators"];
  for (const Node& node : operators.items()) {
    Operator op = read_operator(node, diagram);
    const auto same_name = [&](const Operator& other) { return other.name == op.name; };
    if (!op.name.empty() && std::any_of(diagram.operators.begin(), diagram.operators.end(), same_name))
      node["name"].report(fmt::format("operator '{}' is already described; names must differ", op.name));
    diagram.operators.push_back(std::move(op));
  }
  if (document.clean()) check_order(operators, diagram);  // after a finding, arrays may be placeholders
  if (const auto guard = root.find("guard")) {
    guard->only({"query", "key"});
    const auto query = read_axis((*guard)["query"], diagram), key = read_axis((*guard)["key"], diagram);
    if (query && key && *query == *key) guard->report("query and key must be two different axes");
    if (query && key) diagram.guard = GuardAxes{*query, *key};
  }
  document.finish();
  return diagram;
}

}  // namespace tilescope
