#include "diagram/diagram_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "base/contains.h"
#include "base/text.h"

namespace tilescope {
namespace {

std::string listed(const std::vector<std::string>& names) {
  std::vector<std::string> scalars;
  for (const std::string& name : names) scalars.push_back(yaml_scalar(name));
  return "[" + join(scalars, ", ") + "]";
}

std::string axes_of(const Diagram& diagram, const std::vector<AxisId>& axes) {
  std::vector<std::string> names;
  for (const AxisId axis : axes) names.push_back(diagram.axes[index(axis)].name);
  return listed(names);
}

std::string arrays_of(const Diagram& diagram, const std::vector<ArrayId>& arrays) {
  std::vector<std::string> names;
  for (const ArrayId array : arrays) names.push_back(diagram.array(array).name);
  return listed(names);
}

std::string operator_yaml(const Diagram& diagram, const Operator& op) {
  std::string text = fmt::format("{{name: {}, kind: {}", yaml_scalar(op.name), to_string(op.kind));
  if (op.along) text += ", along: " + yaml_scalar(diagram.axes[index(*op.along)].name);
  if (op.kind == OperatorKind::reduction)
    text += fmt::format(", fold: {}, over: {}", to_string(op.fold), axes_of(diagram, op.over));
  if (op.expression) text += ", expression: \"" + to_text(*op.expression) + "\"";
  else text += ", inputs: " + arrays_of(diagram, op.inputs);
  if (!op.reads.empty()) text += ", reads: " + arrays_of(diagram, op.reads);
  return text + ", outputs: " + arrays_of(diagram, op.outputs) + "}";
}

std::string array_yaml(const Diagram& diagram, const Array& array) {
  std::string text = fmt::format("{{axes: {}, role: {}, dtype: {}", axes_of(diagram, array.axes), to_string(array.role),
                                 yaml_scalar(array.dtype_key));
  if (array.alias_of) text += ", alias: " + yaml_scalar(diagram.array(*array.alias_of).name);
  return text + "}";
}

}  // namespace

std::string yaml_scalar(const std::string& text) {
  static const std::vector<std::string> words{"null", "true", "false"};  // other values than text in YAML
  const auto safe = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  const bool plain = !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) &&
                     std::all_of(text.begin(), text.end(), safe) && !contains(words, text);
  if (plain) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string diagram_yaml(const Diagram& diagram, const std::string& indent) {
  std::string text;
  const auto line = [&](const std::string& content) { text += indent + content + "\n"; };
  line("diagram: " + yaml_scalar(diagram.name));
  line("summary: " + yaml_scalar(diagram.summary));
  std::map<std::string, std::int64_t> sizes;
  for (const Axis& axis : diagram.axes)
    if (!axis.extent) sizes[axis.size] = axis.length;
  if (!sizes.empty()) line("sizes:");
  for (const auto& [name, size] : sizes) line(fmt::format("  {}: {}", yaml_scalar(name), size));
  line("axes:");
  for (const Axis& axis : diagram.axes)
    line(fmt::format("  {}: {{size: {}{}}}", yaml_scalar(axis.name), yaml_scalar(axis.size),
                     axis.usual > 0 ? fmt::format(", default: {}", axis.usual) : ""));
  line("arrays:");
  for (const Array& array : diagram.arrays)
    line(fmt::format("  {}: {}", yaml_scalar(array.name), array_yaml(diagram, array)));
  line("operators:");
  for (const Operator& op : diagram.operators) line("  - " + operator_yaml(diagram, op));
  if (diagram.guard)
    line(fmt::format("guard: {{query: {}, key: {}}}", yaml_scalar(diagram.axes[index(diagram.guard->query)].name),
                     yaml_scalar(diagram.axes[index(diagram.guard->key)].name)));
  return text;
}

Diagram load_diagram(const std::filesystem::path& file) {
  const Document document = Document::load(file);
  document.expect_schema("tilescope/diagram/1");
  document.root().only({"schema", "diagram", "summary", "sizes", "axes", "arrays", "operators", "guard"});
  Diagram diagram = read_diagram(document, document.root());
  document.finish();
  return diagram;
}

}  // namespace tilescope
