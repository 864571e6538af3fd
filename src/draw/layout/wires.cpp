#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "draw/painter.h"

namespace tilescope::draw {
namespace {

class Wires {
 public:
  Wires(const Flow& flow, const Geometry& geometry, Canvas& canvas)
      : flow_(flow), geometry_(geometry), canvas_(canvas) {}

  void lead(const Row& row, bool inputs) {
    std::vector<int> lanes;
    for (const auto& [lane, top] : row.lanes) {
      labelled(lane, top, row.left, row.lead, inputs);
      lanes.push_back(lane);
    }
    tuples(row.lanes, row.left, row.lead);
  }

  void gap(std::size_t c) {
    const Column& column = geometry_.columns[c];
    const auto& at = c == geometry_.rows[static_cast<std::size_t>(column.row)].first
                         ? geometry_.rows[static_cast<std::size_t>(column.row)].lanes
                         : geometry_.columns[c - 1].after;
    for (const auto& [lane, top] : at) straight_on(lane, top, c, column);
    for (const Link& link : flow_.gaps[c]) {
      bend(link, at.at(link.from), c, column);
      const bool labels = changes_level(flow_, link);
      if (labels) labelled(link.to, column.before.at(link.to), column.bent, column.box_left, false);
      else plain(link.to, column.before.at(link.to), column.bent, column.box_left);
    }
  }

  void around_box(std::size_t c, const Stage& stage) {
    const Column& column = geometry_.columns[c];
    for (const auto* side : {&stage.above, &stage.below})
      for (const int lane : *side) plain(lane, column.after.at(lane), column.box_left, column.end);
    for (const int lane : stage.outputs) labelled(lane, column.after.at(lane), column.box_right, column.end, false);
    tuples(column.after, column.box_right, column.end);
  }

  // The remaining lanes end at the right, or continue in the next row.
  void tail(const Row& row) {
    const Column& column = geometry_.columns[row.last];
    for (const auto& [lane, top] : column.after)
      if (!flow_.lanes[static_cast<std::size_t>(lane)].ends) plain(lane, top, column.end, row.right);
  }

 private:
  const Lane& lane_at(int lane) const { return flow_.lanes[static_cast<std::size_t>(lane)]; }
  bool goes_on(int lane, std::size_t gap) const {
    return std::any_of(flow_.gaps[gap].begin(), flow_.gaps[gap].end(),
                       [&](const Link& link) { return link.from == lane; });
  }

  void plain(int lane, double top, double x1, double x2) {
    if (x2 - x1 < 0.01) return;
    for (std::size_t i = 0; i < flow_.array(lane).axes.size(); ++i)
      draw_wire(flow_, lane, {x1, wire_y(top, i), x2, wire_y(top, i)},
                wire_title(flow_, lane, flow_.array(lane).axes[i]), canvas_);
  }

  // Wires from x1 to x2 that their axes' names interrupt, with the array's name above.
  void labelled(int lane, double top, double x1, double x2, bool sizes) {
    const Array& array = flow_.array(lane);
    canvas_.text(x1 + 5, top + 13, array_label(flow_, lane), Font::array);
    for (std::size_t i = 0; i < array.axes.size(); ++i) {
      const double y = wire_y(top, i);
      Label label = axis_label(flow_, lane, array.axes[i]);
      if (sizes) label.small = size_text(array.axes[i]);
      const double width = text_width(label, Font::axis), from = sizes ? x1 : x1 + 9;
      const std::string title = wire_title(flow_, lane, array.axes[i]);
      if (!sizes) draw_wire(flow_, lane, {x1, y, from - 1.5, y}, title, canvas_);
      canvas_.text(from, y + 4, label, Font::axis);
      if (!lane_at(lane).ends) draw_wire(flow_, lane, {from + width + 1.5, y, x2, y}, title, canvas_);
      else canvas_.path(Layer::wires, fmt::format("M{} {}v6", number(from + width + 4), number(y - 3)), "end", title);
    }
  }

  std::string size_text(AxisId id) const {
    const Axis& axis = flow_.diagram->axes[index(id)];
    const std::string size = shortened(axis.size, 14);
    return size == axis.name ? std::to_string(axis.length) : size;
  }

  void straight_on(int lane, double top, std::size_t c, const Column& column) {
    if (!goes_on(lane, c)) return;
    const auto& links = flow_.gaps[c];
    const auto alone = [&](const Link& link) { return link.from == lane; };
    const auto link = std::find_if(links.begin(), links.end(), alone);
    if (link->via >= 0) return plain(link->via, top, column.start, column.start + straight);
    const bool stored =
        flow_.on_chip(lane) && !flow_.on_chip(link->to) && std::count_if(links.begin(), links.end(), alone) == 1;
    if (!stored) return plain(lane, top, column.start, column.start + straight);
    plain(link->to, top, column.start, column.start + straight);
  }

  // A dot where a level changes or an array is copied.
  void bend(const Link& link, double from_top, std::size_t c, const Column& column) {
    const auto& links = flow_.gaps[c];
    const bool copied =
        std::count_if(links.begin(), links.end(), [&](const Link& other) { return other.from == link.from; }) > 1;
    const Array& to = flow_.array(link.to);
    const double to_top = column.before.at(link.to), x = column.start + straight;
    for (std::size_t i = 0; i < to.axes.size(); ++i) {
      const double y1 = port(flow_, link.from, from_top, to.axes[i], i), y2 = wire_y(to_top, i);
      draw_wire(flow_, link.to, {x, y1, column.bent, y2}, wire_title(flow_, link.to, to.axes[i]), canvas_);
      const bool store = flow_.on_chip(link.from) && !flow_.on_chip(link.to),
                 load = flow_.on_chip(link.to) && !flow_.on_chip(link.from);
      if (link.via >= 0) canvas_.circle(Layer::cores, column.start - 3, y1, 2.4, "dot");
      if (load || link.via >= 0) canvas_.circle(Layer::cores, x, y1, 2.4, "dot chip");
      else if (store) canvas_.circle(Layer::cores, column.start - 3, y1, 2.4, "dot");
      else if (copied && link.from != link.to)
        canvas_.circle(Layer::cores, x, y1, 1.9, "dot" + lane_class(flow_, link.to).substr(1));
    }
  }

  // Dashed lines between the arrays of a tuple.
  void tuples(const std::map<int, double>& tops, double x1, double x2) {
    std::vector<std::pair<double, double>> lanes;
    for (const auto& [lane, top] : tops) lanes.emplace_back(top, top + lane_height(flow_, lane));
    std::sort(lanes.begin(), lanes.end());
    for (std::size_t i = 1; i < lanes.size(); ++i)
      canvas_.path(Layer::rules, line(x1, (lanes[i - 1].second + lanes[i].first) / 2, x2), "tuple");
  }

  const Flow& flow_;
  const Geometry& geometry_;
  Canvas& canvas_;
};

}  // namespace

std::string lane_class(const Flow& flow, int lane) {
  const Lane& drawn = flow.lanes[static_cast<std::size_t>(lane)];
  return std::string("w") + (flow.on_chip(lane) ? " chip" : "") + (drawn.state ? " state" : "") +
         (drawn.view ? " view" : "") + (drawn.places ? " places" : "");
}

std::string lane_title(const Flow& flow, int lane) {
  const Lane& drawn = flow.lanes[static_cast<std::size_t>(lane)];
  std::string title = shortened(flow.array(lane).name, 80);
  if (flow.schedule != nullptr)
    title += drawn.island < 0 ? ", in outer memory"
                              : ", on chip in island " +
                                    shortened(flow.schedule->islands[static_cast<std::size_t>(drawn.island)].name, 80);
  if (drawn.view) title += ", a view of " + shortened(flow.diagram->array(*flow.array(lane).alias_of).name, 80);
  return drawn.note.empty() ? title : title + "; " + drawn.note;
}

std::string wire_title(const Flow& flow, int lane, AxisId id) {
  const Axis& axis = flow.diagram->axes[index(id)];
  std::string title =
      fmt::format("axis {} of {}; size {}", shortened(axis.name, 80), lane_title(flow, lane), shortened(axis.size, 80));
  if (axis.length > 0) title += fmt::format(" = {}", axis.length);
  const Loop* loop = loop_over(flow, lane, id);
  if (loop == nullptr) return title;
  title += loop->partition == Partition::group ? "; cut into groups over blocks" : "; streamed";
  if (loop->tile.parameter < 0)
    return title + fmt::format(", {} {}", loop->tile.parts ? "parts" : "tile", loop->tile.literal);
  const Parameter& parameter = flow.schedule->parameters[static_cast<std::size_t>(loop->tile.parameter)];
  return title + fmt::format(", {} {} (default {})", loop->tile.parts ? "parts" : "tile", shortened(parameter.name, 80),
                             parameter.default_value);
}

void draw_wire(const Flow& flow, int lane, const Span& span, const std::string& title, Canvas& canvas) {
  const auto draw = [&](const std::string& css, const std::string& said) {
    if (std::abs(span.y1 - span.y2) < 0.005) canvas.level(css, span.x1, span.y1, span.x2, said);
    else canvas.path(Layer::wires, curve(span.x1, span.y1, span.x2, span.y2), css, said);
  };
  draw(lane_class(flow, lane), title);
  if (flow.lanes[static_cast<std::size_t>(lane)].state) draw("hollow", "");
}

void draw_wires(const Flow& flow, const Order& order, const Geometry& geometry, Canvas& canvas) {
  Wires wires(flow, geometry, canvas);
  for (std::size_t r = 0; r < geometry.rows.size(); ++r) wires.lead(geometry.rows[r], r == 0);
  for (std::size_t c = 0; c < geometry.columns.size(); ++c) {
    wires.gap(c);
    if (c < order.stages.size()) wires.around_box(c, order.stages[c]);
  }
  for (const Row& row : geometry.rows) wires.tail(row);
}

}  // namespace tilescope::draw
