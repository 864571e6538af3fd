#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "draw/layout/geometry.h"

namespace tilescope::draw {
namespace {

constexpr std::size_t most_of_a_name = 24, most_of_a_line = 20, most_lines = 4;
constexpr double core_padding = 11;

std::string axis_names(const Diagram& diagram, const std::vector<AxisId>& axes) {
  std::vector<std::string> names;
  for (const AxisId axis : axes) names.push_back(shortened(diagram.axes[index(axis)].name, most_of_a_name));
  return join(names, ", ");
}

void add_lines(Core& core, const std::string& text, Font font) {
  std::vector<std::string> lines = wrapped(text, most_of_a_line);
  if (lines.size() > most_lines)
    lines.resize(most_lines), lines.back() = shortened(lines.back() + "     ", most_of_a_line - 1);
  for (const std::string& line : lines) core.lines.push_back({line, font});
}

std::vector<AxisId> contracted(const Flow& flow, const Step& step) {
  std::vector<AxisId> axes = flow.diagram->axes_of(flow.op(step));
  const Array& out = flow.diagram->array(flow.op(step).outputs.front());
  axes.erase(std::remove_if(axes.begin(), axes.end(), [&](AxisId axis) { return out.has(axis); }), axes.end());
  return axes;
}

}  // namespace

Core core_of(const Flow& flow, const Step& step) {
  const Operator& op = flow.op(step);
  const Diagram& diagram = *flow.diagram;
  Core core;
  add_lines(core, op.name, Font::op);
  switch (op.kind) {
    case OperatorKind::contraction:
      add_lines(core, fmt::format("\u2211 {}  product", axis_names(diagram, contracted(flow, step))), Font::detail);
      break;
    case OperatorKind::softmax:
      add_lines(core, fmt::format("softmax along {}", op.along ? axis_names(diagram, {*op.along}) : "?"), Font::detail);
      break;
    case OperatorKind::pointwise:
      add_lines(core, "pointwise", Font::detail);
      break;
    case OperatorKind::reduction:
      add_lines(core,
                fmt::format("{} over {} of", op.fold == FoldKind::sum ? "\u2211" : to_string(op.fold),
                            axis_names(diagram, op.over)),
                Font::detail);
      break;
    case OperatorKind::merge:
      add_lines(core, fmt::format("merge over {}", axis_names(diagram, op.over)), Font::detail);
      break;
  }
  if (op.expression) add_lines(core, to_text(*op.expression), Font::code);
  for (const Line& line : core.lines) {
    core.width = std::max(core.width, text_width({.text = line.text}, line.font));
    core.height += pitch;
  }
  core.width += 2 * core_padding, core.height += core_padding;
  return core;
}

Label axis_label(const Flow& flow, int lane, AxisId axis) {
  const std::string name = shortened(flow.diagram->axes[index(axis)].name, 12);
  const Loop* loop = loop_over(flow, lane, axis);
  if (loop == nullptr) return {.text = name};
  return {.text = loop->partition == Partition::group ? "g" : "s", .subscript = name};
}

Label array_label(const Flow& flow, int lane) {
  const Lane& drawn = flow.lanes[static_cast<std::size_t>(lane)];
  Label label{.text = shortened(flow.array(lane).name, most_of_a_name)};
  if (drawn.state) label.small = "+=";
  if (drawn.ends) label.small = flow.schedule != nullptr ? "not stored" : "not used";
  if (drawn.view) label.small = "view of " + shortened(flow.diagram->array(*flow.array(lane).alias_of).name, 12);
  return label;
}

double lane_height(const Flow& flow, int lane) {
  return name_row + pitch * static_cast<double>(flow.array(lane).axes.size());
}

double port(const Flow& flow, int lane, double top, AxisId axis, std::size_t otherwise) {
  const auto& axes = flow.array(lane).axes;
  const auto found = std::find(axes.begin(), axes.end(), axis);
  const std::size_t last = axes.empty() ? 0 : axes.size() - 1;
  return wire_y(top, found == axes.end() ? std::min(otherwise, last) : static_cast<std::size_t>(found - axes.begin()));
}

bool changes_level(const Flow& flow, const Link& link) {
  const Lane &from = flow.lanes[static_cast<std::size_t>(link.from)],
             &to = flow.lanes[static_cast<std::size_t>(link.to)];
  return (flow.schedule != nullptr && from.island != to.island) || from.array != to.array;
}

}  // namespace tilescope::draw
