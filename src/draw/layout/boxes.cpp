#include <fmt/format.h>

#include <algorithm>

#include "draw/painter.h"

namespace tilescope::draw {
namespace {

// The outline of a symbol shows the operator's kind: a lens for a contraction, a hexagon for a softmax, a rectangle for
// a pointwise map, a funnel for a reduction, its mirror image with a notch for a merge.
std::string outline(OperatorKind kind, const Box& b) {
  const double w = b.right - b.left, h = b.bottom - b.top, n = 9, m = (b.top + b.bottom) / 2;
  switch (kind) {
    case OperatorKind::contraction:
      return fmt::format("M{} {}h{}a{} {} 0 0 1 0 {}h{}a{} {} 0 0 1 0 {}z", number(b.left + n), number(b.top),
                         number(w - 2 * n), number(n), number(h / 2), number(h), number(2 * n - w), number(n),
                         number(h / 2), number(-h));
    case OperatorKind::softmax:
      return fmt::format("M{} {}L{} {}H{}L{} {}L{} {}H{}z", number(b.left), number(m), number(b.left + n),
                         number(b.top), number(b.right - n), number(b.right), number(m), number(b.right - n),
                         number(b.bottom), number(b.left + n));
    case OperatorKind::reduction:
      return fmt::format("M{} {}L{} {}V{}L{} {}z", number(b.left), number(b.top), number(b.right), number(b.top + 7),
                         number(b.bottom - 7), number(b.left), number(b.bottom));
    case OperatorKind::merge:
      return fmt::format("M{} {}H{}L{} {}L{} {}H{}L{} {}z", number(b.left), number(b.top), number(b.right - n),
                         number(b.right), number(m), number(b.right - n), number(b.bottom), number(b.left),
                         number(b.left + n), number(m));
    case OperatorKind::pointwise:
      break;
  }
  return fmt::format("M{} {}h{}v{}h{}z", number(b.left), number(b.top), number(w), number(h), number(-w));
}

struct End {
  int lane;
  AxisId axis;
  double y;  // at the box' edge
};

class Boxes {
 public:
  Boxes(const Flow& flow, const Geometry& geometry, Canvas& canvas)
      : flow_(flow), geometry_(geometry), canvas_(canvas) {}

  void box(std::size_t c, const Stage& stage) {
    const Column& column = geometry_.columns[c];
    const Operator& op = flow_.op(flow_.steps[c]);
    canvas_.rect(Layer::boxes, column.box, 7, "weave");
    weave(column, stage);
    const std::string title = fmt::format("{}: {}{}", shortened(op.name, 80), to_string(op.kind),
                                          op.expression ? " " + shortened(to_text(*op.expression), 200) : "");
    canvas_.path(Layer::cores, outline(op.kind, column.core), "core", title);
    double y = column.core.top + 6;
    for (const Line& text : core_of(flow_, flow_.steps[c]).lines) {
      canvas_.text((column.core.left + column.core.right) / 2, y + 10.5, {.text = text.text}, text.font,
                   Anchor::middle);
      y += pitch;
    }
  }

 private:
  // Woven wires go through beside the symbol, where inputs that share an axis meet; the others end at it or begin
  // there. An input that lacks an axis is not attached to its wire.
  void weave(const Column& column, const Stage& stage) {
    std::vector<End> in, out;
    for (const int lane : stage.inputs)
      for (const AxisId axis : flow_.array(lane).axes)
        in.push_back({lane, axis, port(flow_, lane, column.before.at(lane), axis)});
    for (const int lane : stage.outputs)
      for (const AxisId axis : flow_.array(lane).axes)
        out.push_back({lane, axis, port(flow_, lane, column.after.at(lane), axis)});
    for (const auto& [axis, y] : column.tracks) track(column, axis, y, in, out);
    held_ = 0;
    side(column, in, column.box.left, column.core.left);
    side(column, out, column.box.right, column.core.right);
    if (held_ == 0 && !column.tracks.empty()) stub(column);
  }

  void track(const Column& column, AxisId axis, double y, const std::vector<End>& in, const std::vector<End>& out) {
    const auto of_axis = [&](const End& end) { return end.axis == axis; };
    const auto carrier = std::find_if(out.begin(), out.end(), of_axis);
    if (carrier == out.end()) return;
    draw_wire(flow_, through(*carrier, in), {column.core.left, y, column.core.right, y},
              wire_title(flow_, carrier->lane, axis), canvas_);
    if (std::count_if(in.begin(), in.end(), of_axis) > 1)
      canvas_.circle(Layer::cores, column.core.left, y, 2, "dot" + lane_class(flow_, in.front().lane).substr(1));
  }

  // Inside the box a wire has the style that it has left of the box.
  int through(const End& carrier, const std::vector<End>& in) const {
    const auto same = std::find_if(in.begin(), in.end(), [&](const End& end) { return end.axis == carrier.axis; });
    return same == in.end() ? carrier.lane : same->lane;
  }

  void side(const Column& column, const std::vector<End>& ends, double edge, double core) {
    std::vector<const End*> held;
    for (const End& end : ends) {
      const auto found = column.tracks.find(end.axis);
      if (found == column.tracks.end()) held.push_back(&end);
      else draw(end, edge, core, found->second);
    }
    std::stable_sort(held.begin(), held.end(), [](const End* a, const End* b) { return a->y < b->y; });
    held_ += held.size();
    const double height = column.core.bottom - column.core.top,
                 step = std::min(12.0, height / static_cast<double>(held.size() + 1));
    const double first = (column.core.top + column.core.bottom) / 2 - step * (static_cast<double>(held.size()) - 1) / 2;
    for (std::size_t i = 0; i < held.size(); ++i) {
      const double y = first + step * static_cast<double>(i);
      draw(*held[i], edge, core, y, 5);
    }
  }

  void draw(const End& end, double edge, double core, double y, double inside = 0) {
    const bool left = edge < core;
    const double x = left ? core + inside : core - inside;  // under the symbol's slanted side
    if (left) draw_wire(flow_, end.lane, {edge, end.y, x, y}, wire_title(flow_, end.lane, end.axis), canvas_);
    else draw_wire(flow_, end.lane, {x, y, edge, end.y}, wire_title(flow_, end.lane, end.axis), canvas_);
  }

  // A pointwise map ends no wire; it acts on the woven ones.
  void stub(const Column& column) {
    double above = column.core.top - pitch * 2;
    for (const auto& [axis, y] : column.tracks)
      if (y < column.core.top) above = std::max(above, y);
    canvas_.path(Layer::rules,
                 fmt::format("M{} {}V{}", number((column.core.left + column.core.right) / 2), number(above),
                             number(column.core.top)),
                 "stub");
  }

  const Flow& flow_;
  const Geometry& geometry_;
  Canvas& canvas_;
  std::size_t held_ = 0;
};

}  // namespace

void draw_boxes(const Flow& flow, const Order& order, const Geometry& geometry, Canvas& canvas) {
  Boxes boxes(flow, geometry, canvas);
  for (std::size_t c = 0; c < order.stages.size(); ++c) boxes.box(c, order.stages[c]);
}

void draw_frames(const Flow& flow, const Geometry& geometry, Canvas& canvas) {
  for (const Frame& frame : geometry.frames) {
    const Island& island = flow.schedule->islands[static_cast<std::size_t>(frame.island)];
    canvas.rect(Layer::frames, frame.box, 11, "island", "island " + shortened(island.name, 80) + ": one kernel");
    for (const Frame::Item& item : frame.items) canvas.text(item.x, item.baseline, item.label, item.font);
  }
}

}  // namespace tilescope::draw
