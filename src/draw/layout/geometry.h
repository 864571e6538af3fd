// Positions of all elements: columns from left to right, folded into rows that a page can hold; lanes from top to
// bottom.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "draw/canvas.h"
#include "draw/layout/flow.h"
#include "draw/layout/order.h"

namespace tilescope::draw {

inline constexpr double pitch = 16;     // between the wires of an array
inline constexpr double name_row = 18;  // above them, for the array's name
inline constexpr double lane_gap = 10;  // between arrays; the dashed line is in its middle
inline constexpr double straight = 18;  // at the start of a column, before wires bend: levels change here
inline constexpr double margin = 14;
inline constexpr double row_width = 1120;  // columns of a row; it is folded where they would be wider

struct Line {
  std::string text{};
  Font font = Font::detail;
};

// The symbol in an operator's box.
struct Core {
  std::vector<Line> lines{};
  double width = 0, height = 0;
};
Core core_of(const Flow& flow, const Step& step);

// One step: wires bend, are labelled if they are new, pass the box, and what it yields is labelled. The last one has no
// box.
struct Column {
  double start = 0, bent = 0, box_left = 0, box_right = 0, end = 0;  // x
  std::map<int, double> before{}, after{};                           // top of every lane around the box
  Box box{}, core{};
  std::map<AxisId, double> tracks{};  // in the box: y of the woven axes
  int row = 0;
};

struct Row {
  std::size_t first = 0, last = 0;       // columns
  double left = 0, lead = 0, right = 0;  // x: start, end of the labels that open the row, end
  double top = 0, bottom = 0;            // y of the lanes' part
  std::map<int, double> lanes{};         // in the lead
};

// An island's part of a row, its name and how it cuts its axes.
struct Frame {
  struct Item {
    Label label{};
    Font font = Font::note;
    double x = 0, baseline = 0;
  };
  int island = 0;
  Box box{};
  std::vector<Item> items{};
};

struct Geometry {
  std::vector<Column> columns{};  // one a step and one behind
  std::vector<Row> rows{};
  std::vector<Frame> frames{};
  double width = 0, height = 0;  // of all rows
};

Geometry geometry_of(const Flow& flow, const Order& order);
// Tops of lanes placed as close as allowed, starting at 0.
std::map<int, double> close_together(const Flow& flow, const std::vector<int>& lanes);
// Puts the rows below each other and a frame around every island's part of them.
void place_rows(const Flow& flow, Geometry& geometry);
// The text, shortened until it fits.
std::string fitted(const std::string& text, Font font, double width);

Label axis_label(const Flow& flow, int lane, AxisId axis);
Label array_label(const Flow& flow, int lane);
double lane_height(const Flow& flow, int lane);
// y of the wire of the position-th axis of a lane whose top is there.
inline double wire_y(double top, std::size_t position) {
  return top + name_row + pitch * (static_cast<double>(position) + 0.5);
}
// y of the axis' wire; of the wire in the place `otherwise` where the array has no such axis.
double port(const Flow& flow, int lane, double top, AxisId axis, std::size_t otherwise = 0);
// Whether the lane is labelled where it begins: at a load or a store, not at a copy.
bool changes_level(const Flow& flow, const Link& link);

}  // namespace tilescope::draw
