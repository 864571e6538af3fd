// Draws the positioned elements.
#pragma once

#include "draw/layout/geometry.h"

namespace tilescope::draw {

void draw_wires(const Flow& flow, const Order& order, const Geometry& geometry, Canvas& canvas);
void draw_boxes(const Flow& flow, const Order& order, const Geometry& geometry, Canvas& canvas);
void draw_frames(const Flow& flow, const Geometry& geometry, Canvas& canvas);
// Draws the legend of the symbols in this picture; returns its height from `top` down.
double draw_legend(const Flow& flow, double top, double width, Canvas& canvas);

// One wire in the style of its lane: colour and width show the level, a double line a running state, dashes a view.
struct Span {
  double x1, y1, x2, y2;
};
void draw_wire(const Flow& flow, int lane, const Span& span, const std::string& title, Canvas& canvas);
std::string lane_class(const Flow& flow, int lane);
std::string wire_title(const Flow& flow, int lane, AxisId axis);
std::string lane_title(const Flow& flow, int lane);

}  // namespace tilescope::draw
