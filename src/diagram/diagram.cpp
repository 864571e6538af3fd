#include "diagram/diagram.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "config/read_kind.h"
#include "config/reader.h"
#include "diagram/diagram_yaml.h"
#include "expr/parse.h"

namespace tilescope {
namespace {

constexpr std::int64_t largest_size = std::int64_t{1} << 40;

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
  if (!id && name.find_first_of("+*[") != std::string::npos)
    node.report(
        fmt::format("'{}' is not the name of an axis; affine reads such as n + t are not supported: an array has "
                    "one axis a dimension; give the windows as an input with both axes, as in axes: [n, t]",
                    name));
  else if (!id && !name.empty())
    node.report(fmt::format("'{}' is not an axis of this diagram{}", name, did_you_mean(name, names_of(diagram.axes))));
  return id;
}

std::vector<ArrayId> read_arrays(const Node& list, const Diagram& diagram) {
  std::vector<ArrayId> ids;
  for (const Node& item : list.items()) {
    const std::string name = item.text();
    const auto id = diagram.find_array(name);
    if (id && contains(ids, *id)) item.report(fmt::format("'{}' is listed twice", name));
    if (id) ids.push_back(*id);
    else if (!name.empty())
      item.report(
          fmt::format("'{}' is not an array of this diagram{}", name, did_you_mean(name, names_of(diagram.arrays))));
  }
  if (list.is_list() && ids.empty() && list.items().empty()) list.report("is an empty list; name at least one array");
  return ids;
}

void check_name(const Node& node, const std::string& name) {
  if (!is_expression_name(name))
    node.report(
        fmt::format("'{}' cannot stand in an expression; use letters, digits and '_', not a function's name", name));
}

std::map<std::string, std::int64_t> read_sizes(const Node& root) {
  std::map<std::string, std::int64_t> sizes;
  const auto map = root.find("sizes");
  if (!map) return sizes;
  for (const auto& [name, node] : map->entries()) {
    if (parse_kind<Extent>(name))
      node.report(fmt::format("'{}' is an extent of the workload already; choose another name", name));
    sizes[name] = node.integer(1, largest_size);
  }
  return sizes;
}

void read_axes(const Node& map, const std::map<std::string, std::int64_t>& own_sizes, Diagram& diagram) {
  std::vector<std::string> known = kind_names<Extent>();
  for (const auto& [name, value] : own_sizes) known.push_back(name);
  for (const auto& [name, node] : map.entries()) {
    node.only({"size", "default"});
    check_name(node, name);
    const std::string size = node["size"].one_of(known);
    Axis axis{.name = name, .size = size, .extent = parse_kind<Extent>(size)};
    if (const auto usual = node.find("default")) {
      axis.usual = usual->integer(1, largest_extent);
      if (!axis.extent || axis.extent == Extent::group)
        usual->report(fmt::format("'{}' takes no default; give it in 'sizes', or that of heads_kv", size));
    }
    if (const auto own = own_sizes.find(size); own != own_sizes.end()) axis.length = own->second;
    diagram.axes.push_back(std::move(axis));
  }
  if (diagram.axes.size() > max_axes)
    map.report(fmt::format("a diagram may have at most {} axes, found {}", max_axes, diagram.axes.size()));
}

// A view has its source's axes, but for the last, which may be shorter.
void read_alias(const Node& node, Array& array, const Diagram& diagram) {
  const std::string name = node.text();
  const auto source = diagram.find_array(name);
  if (!source) {
    if (!name.empty())
      node.report(fmt::format("'{}' is not an array described before this one{}", name,
                              did_you_mean(name, names_of(diagram.arrays))));
    return;
  }
  const Array& whole = diagram.array(*source);
  const bool same_rows = whole.axes.size() == array.axes.size() &&
                         std::equal(whole.axes.begin(), whole.axes.end() - 1, array.axes.begin());
  if (whole.role != ArrayRole::input || array.role != ArrayRole::input)
    node.report("a view and its source are both inputs");
  else if (!same_rows)
    node.report(fmt::format("a view has the axes of its source but for the last; '{}' has not", name));
  else array.alias_of = source;
}

void read_array_list(const Node& map, Diagram& diagram) {
  for (const auto& [name, node] : map.entries()) {
    node.only({"axes", "role", "dtype", "alias"});
    check_name(node, name);
    Array array{.name = name, .axes = {}, .role = ArrayRole::input, .dtype_key = node["dtype"].text()};
    for (const Node& axis : node["axes"].items()) {
      const auto id = read_axis(axis, diagram);
      if (id && array.has(*id)) axis.report("axis appears twice in this array");
      if (id) array.axes.push_back(*id);
    }
    array.role = read_kind<ArrayRole>(node["role"]);
    const Node axes = node["axes"];
    if (axes.is_list() && axes.items().empty()) axes.report("is an empty list; an array has at least one axis");
    if (const auto alias = node.find("alias"); alias && !array.axes.empty()) read_alias(*alias, array, diagram);
    diagram.arrays.push_back(std::move(array));
  }
  if (diagram.arrays.size() > max_arrays)
    map.report(fmt::format("a diagram may have at most {} arrays, found {}", max_arrays, diagram.arrays.size()));
}

// An expression names its inputs itself.
void read_expression(const Node& node, const Diagram& diagram, Operator& op) {
  const std::string text = node.text();
  if (text.empty()) return;
  auto parsed = parse_expression(text);
  if (const auto* error = std::get_if<ExpressionError>(&parsed)) {
    const bool says_where = error->message.find(" at character ") != std::string::npos;
    node.report(says_where ? error->message : fmt::format("at character {}: {}", error->position + 1, error->message));
    return;
  }
  const Expression& expression = std::get<Expression>(parsed);
  for (const std::string& name : expression.arrays()) {
    if (const auto id = diagram.find_array(name)) op.inputs.push_back(*id);
    else
      node.report(
          fmt::format("'{}' is not an array of this diagram{}", name, did_you_mean(name, names_of(diagram.arrays))));
  }
  for (const std::string& name : expression.axes())
    if (!diagram.find_axis(name))
      node.report(
          fmt::format("'{}' is not an axis of this diagram{}", name, did_you_mean(name, names_of(diagram.axes))));
  op.expression = expression;
}

void read_folded_axes(const Node& list, const Diagram& diagram, Operator& op) {
  for (const Node& item : list.items())
    if (const auto axis = read_axis(item, diagram)) op.over.push_back(*axis);
  if (list.is_list() && list.items().empty()) list.report("is an empty list; a reduction folds at least one axis");
}

Operator read_operator(const Node& node, const Diagram& diagram) {
  node.only({"name", "kind", "along", "inputs", "outputs", "expression", "fold", "over", "reads"});
  Operator op{.name = node["name"].text(), .kind = OperatorKind::contraction};
  const auto kind =
      find_kind<OperatorKind>(node["kind"], kind_names<OperatorKind>([](const auto& row) { return row.in_files; }));
  const bool known = kind.has_value();
  op.kind = kind.value_or(OperatorKind::contraction);
  const auto belongs = [&](const char* key, bool here, const char* owner) {
    if (const auto extra = node.find(key); extra && known && !here)
      extra->report(fmt::format("only a {} has '{}'", owner, key));
  };
  const bool has_expression = properties(op.kind).has_expression;
  belongs("along", op.kind == OperatorKind::softmax, "softmax");
  belongs("fold", op.kind == OperatorKind::reduction, "reduction");
  belongs("over", op.kind == OperatorKind::reduction, "reduction");
  belongs("expression", has_expression, "pointwise operator or reduction");
  belongs("inputs", !has_expression, "contraction or softmax (an expression names its inputs itself)");
  if (op.kind == OperatorKind::softmax) op.along = read_axis(node["along"], diagram);
  if (op.kind == OperatorKind::reduction) {
    op.fold = read_kind<FoldKind>(node["fold"]);
    read_folded_axes(node["over"], diagram, op);
  }
  if (has_expression) read_expression(node["expression"], diagram, op);
  else op.inputs = read_arrays(node["inputs"], diagram);
  if (const auto reads = node.find("reads")) op.reads = read_arrays(*reads, diagram);
  op.outputs = read_arrays(node["outputs"], diagram);
  if (known && op.kind != OperatorKind::softmax && op.outputs.size() > 1)
    node["outputs"].report(fmt::format("a {} has one output, found {}", to_string(op.kind), op.outputs.size()));
  return op;
}

std::string axis_names(const Diagram& diagram, const std::vector<AxisId>& axes) {
  std::vector<std::string> names;
  for (const AxisId axis : axes) names.push_back(diagram.axes[index(axis)].name);
  return "[" + join(names, ", ") + "]";
}

std::vector<AxisId> input_axes(const Diagram& diagram, const Operator& op) {
  std::set<AxisId> all;
  for (const ArrayId id : op.inputs) all.insert(diagram.array(id).axes.begin(), diagram.array(id).axes.end());
  if (op.expression)
    for (const std::string& name : op.expression->index_axes()) all.insert(*diagram.find_axis(name));
  return {all.begin(), all.end()};
}

// Axes an output must have: those of the inputs, less what is folded. A contraction folds whatever its output lacks.
void check_shape(const Node& node, const Diagram& diagram, const Operator& op) {
  std::vector<AxisId> axes = input_axes(diagram, op);
  const auto remove = [&](AxisId axis) { axes.erase(std::remove(axes.begin(), axes.end(), axis), axes.end()); };
  std::set<AxisId> folded;
  for (const AxisId axis : op.over) {
    const std::string& name = diagram.axes[index(axis)].name;
    if (!folded.insert(axis).second) node["over"].report(fmt::format("'{}' is listed twice", name));
    else if (!contains(axes, axis)) node["over"].report(fmt::format("no input has axis '{}'", name));
    remove(axis);
  }
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const Array& out = diagram.array(op.outputs[i]);
    std::vector<AxisId> has = out.axes, needs = axes;
    std::sort(has.begin(), has.end());
    if (op.kind == OperatorKind::softmax && i > 0)
      needs.erase(std::remove(needs.begin(), needs.end(), *op.along), needs.end());
    const bool fits = op.kind == OperatorKind::contraction
                          ? std::includes(needs.begin(), needs.end(), has.begin(), has.end())
                          : has == needs;
    if (!fits)
      node["outputs"].report(
          fmt::format("'{}' has axes {}, operator '{}' yields {}{}", out.name, axis_names(diagram, has), op.name,
                      op.kind == OperatorKind::contraction ? "some of " : "", axis_names(diagram, needs)));
  }
  if (op.kind == OperatorKind::contraction && op.inputs.size() != 2)
    node["inputs"].report(fmt::format("a contraction has two inputs, found {}", op.inputs.size()));
  if (op.kind == OperatorKind::softmax && op.inputs.size() != 1)
    node["inputs"].report(fmt::format("a softmax has one input, found {}", op.inputs.size()));
  if (op.kind == OperatorKind::softmax && op.outputs.size() > 2)
    node["outputs"].report(
        fmt::format("a softmax has one output and, with it, the log-sum-exp of its rows; found {}", op.outputs.size()));
}

// Something comes out, everything that goes in is used, and the guard relates two axes that some array has.
void check_use(const Node& root, const Diagram& diagram) {
  if (diagram.operators.empty()) root["operators"].report("is an empty list; a diagram has at least one operator");
  const auto output = [](const Array& array) { return array.role == ArrayRole::output; };
  if (std::none_of(diagram.arrays.begin(), diagram.arrays.end(), output))
    root["arrays"].report("has no array with role output; something must come out");
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    const auto uses = [&](const Operator& op) {
      const std::vector<ArrayId> fetched = diagram.fetched_by(op);
      return contains(fetched, id);
    };
    if (diagram.arrays[i].role != ArrayRole::output &&
        std::none_of(diagram.operators.begin(), diagram.operators.end(), uses))
      root["arrays"].report(fmt::format("no operator reads '{}'; take it out or use it", diagram.arrays[i].name));
  }
  const auto related = [&](const Array& array) {
    return array.has(diagram.guard->query) && array.has(diagram.guard->key);
  };
  if (diagram.guard && std::none_of(diagram.arrays.begin(), diagram.arrays.end(), related))
    root["guard"].report("no array has both axes, so there is nothing to mask");
}

// The operators through which `array` depends on itself, as "a -> b -> a"; empty: it does not.
std::string cycle_through(const Diagram& diagram, ArrayId array) {
  std::vector<std::string> path;
  std::set<ArrayId> seen;
  const std::function<bool(ArrayId)> reach = [&](ArrayId id) {
    for (const Operator& op : diagram.operators) {
      if (!contains(op.inputs, id)) continue;
      for (const ArrayId out : op.outputs) {
        path.push_back(diagram.array(out).name);
        if (out == array || (seen.insert(out).second && reach(out))) return true;
        path.pop_back();
      }
    }
    return false;
  };
  return reach(array) ? diagram.array(array).name + " -> " + join(path, " -> ") : "";
}

// Every array has exactly the writers its role allows, and is written before it is read.
void check_order(const Node& operators, const Diagram& diagram) {
  std::vector<int> writers(diagram.arrays.size(), 0);
  const std::vector<Node> nodes = operators.items();
  for (std::size_t i = 0; i < diagram.operators.size() && i < nodes.size(); ++i) {
    const Operator& op = diagram.operators[i];
    for (const ArrayId id : diagram.fetched_by(op))
      if (diagram.array(id).role != ArrayRole::input && writers[index(id)] == 0) {
        const std::string cycle = cycle_through(diagram, id);
        nodes[i].report(fmt::format("reads '{}' before any operator writes it{}", diagram.array(id).name,
                                    cycle.empty() ? "" : "; the operators form a cycle: " + cycle));
      }
    for (const ArrayId id : op.outputs) ++writers[index(id)];
    const Array& first_input = diagram.array(op.inputs.empty() ? op.outputs.front() : op.inputs.front());
    if (op.along && !first_input.has(*op.along))
      nodes[i]["along"].report(fmt::format("array '{}' has no such axis", first_input.name));
    else check_shape(nodes[i], diagram, op);
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

// A plain loop: the list is short, and counts ask for it all the time.
std::optional<AxisId> Diagram::find_axis(const std::string& axis_name) const {
  return position<AxisId>(axes, axis_name);
}
std::optional<ArrayId> Diagram::find_array(const std::string& array_name) const {
  return position<ArrayId>(arrays, array_name);
}

std::vector<ArrayId> Diagram::fetched_by(const Operator& op) const {
  std::vector<ArrayId> all = op.inputs;
  all.insert(all.end(), op.reads.begin(), op.reads.end());
  return all;
}

std::vector<AxisId> Diagram::axes_of(const Operator& op) const {
  std::vector<AxisId> found;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto id = static_cast<AxisId>(static_cast<int>(i));
    const auto uses = [&](ArrayId array_id) { return array(array_id).has(id); };
    if (std::any_of(op.inputs.begin(), op.inputs.end(), uses) ||
        std::any_of(op.outputs.begin(), op.outputs.end(), uses))
      found.push_back(id);
  }
  return found;
}

void set_size(Diagram& diagram, const std::string& size, std::int64_t value) {
  std::vector<std::string> known;
  bool found = false;
  for (Axis& axis : diagram.axes) {
    if (axis.extent || axis.chunks_of) continue;
    known.push_back(axis.size);
    if (axis.size == size) axis.length = value, found = true;
  }
  if (found) return;
  std::string message = fmt::format("diagram '{}' has no size '{}'", diagram.name, size);
  message += known.empty() ? "; its axes are sized by the workload" : did_you_mean(size, known);
  throw InputError(Diagnostic{.path = "--size", .message = message});
}

std::int64_t usual_size(const Diagram& diagram, Extent extent) {
  const auto axis = std::find_if(diagram.axes.begin(), diagram.axes.end(),
                                 [&](const Axis& each) { return each.extent == extent && each.usual > 0; });
  return axis == diagram.axes.end() ? 0 : axis->usual;
}

Diagram read_diagram(const Document& document, const Node& root) {
  Diagram diagram;
  diagram.name = root["diagram"].text();
  diagram.summary = root["summary"].text();
  read_axes(root["axes"], read_sizes(root), diagram);
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
  if (document.clean()) check_use(root, diagram);
  return diagram;
}

}  // namespace tilescope
