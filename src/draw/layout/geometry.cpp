#include "draw/layout/geometry.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "draw/layout/stack.h"

namespace tilescope::draw {
namespace {

constexpr double box_gap = 9;       // inside a box, between its core and the wires beside it
constexpr double widest_gap = 40;   // between lanes
constexpr double label_space = 22;  // beside a label, so that the wire is visible on both sides

class Layout {
 public:
  // At the start of a row, lanes are placed close together again.
  Layout(const Flow& flow, const Order& order, const std::vector<std::size_t>& starts)
      : flow_(flow), order_(order), starts_(starts) {}

  Geometry run() {
    result_.columns.resize(flow_.steps.size() + 1);
    std::map<int, double> at = close_together(flow_, order_.first);  // tops of the lanes so far
    for (std::size_t c = 0; c < result_.columns.size(); ++c) {
      if (c > 0 && std::count(starts_.begin(), starts_.end(), c) > 0)
        at = close_together(flow_, order_.stages[c - 1].after());
      lead_.push_back(at);
      if (c < flow_.steps.size()) place_step(c, at);
      else place_last(at);
      at = result_.columns[c].after;
    }
    return std::move(result_);
  }

  std::vector<std::map<int, double>> lead_{};  // tops at the start of every column

 private:
  int parent(std::size_t gap, int lane) const {
    for (const Link& link : flow_.gaps[gap])
      if (link.to == lane) return link.from;
    return lane;
  }

  Stacked passing(std::size_t c, int lane, const std::map<int, double>& at) const {
    return {lane_height(flow_, lane), std::vector<double>(flow_.array(lane).axes.size() + 1, at.at(parent(c, lane)))};
  }

  // y of the woven axes and of the core, from the top of the box; level with the first input where possible.
  void weave(const Step& step, const std::vector<int>& inputs, const std::map<int, double>& tops,
             Column& column) const {
    const Operator& op = flow_.op(step);
    std::set<AxisId> out;
    for (const ArrayId id : op.outputs)
      out.insert(flow_.diagram->array(id).axes.begin(), flow_.diagram->array(id).axes.end());
    if (op.along) out.erase(*op.along);
    if (inputs.empty()) out.clear();
    double next = 6 + name_row;
    for (const AxisId axis : inputs.empty() ? std::vector<AxisId>{} : flow_.array(inputs.front()).axes)
      if (out.count(axis) > 0)
        column.tracks[axis] = port(flow_, inputs.front(), tops.at(inputs.front()), axis),
        next = column.tracks[axis] + box_gap;
    const Core core = core_of(flow_, step);
    column.core = {0, next, core.width, next + core.height};
    next = column.core.bottom + box_gap;
    for (const int lane : inputs)
      for (const AxisId axis : flow_.array(lane).axes) {
        if (out.count(axis) == 0 || column.tracks.count(axis) > 0) continue;
        column.tracks[axis] = std::max(next, port(flow_, lane, tops.at(lane), axis));
        next = column.tracks[axis] + pitch;
      }
  }

  void place_step(std::size_t c, const std::map<int, double>& at) {
    const Step& step = flow_.steps[c];
    const Stage& stage = order_.stages[c];
    Column& column = result_.columns[c];
    // The box as if its top were 0.
    std::map<int, double> inside;
    double in = 6, out = 6;
    for (const int lane : stage.inputs) inside[lane] = in, in += lane_height(flow_, lane) + lane_gap;
    weave(step, stage.inputs, inside, column);
    for (const int lane : stage.outputs) inside[lane] = out, out += lane_height(flow_, lane) + lane_gap;
    double height = std::max({in - lane_gap, out - lane_gap, column.core.bottom}) + 8;
    for (const auto& [axis, y] : column.tracks) height = std::max(height, y + 10);
    std::vector<Stacked> items;
    for (const int lane : stage.above) items.push_back(passing(c, lane, at));
    Stacked box{.height = height};
    for (const int lane : stage.inputs)
      for (std::size_t vote = 0; vote <= flow_.array(lane).axes.size(); ++vote)
        box.wishes.push_back(at.at(parent(c, lane)) - inside.at(lane));
    items.push_back(box);
    for (const int lane : stage.below) items.push_back(passing(c, lane, at));
    const std::vector<double> tops = stacked(items, lane_gap, widest_gap);
    std::size_t i = 0;
    for (const int lane : stage.above) column.before[lane] = column.after[lane] = tops[i++];
    const double top = tops[i++];
    for (const int lane : stage.below) column.before[lane] = column.after[lane] = tops[i++];
    for (const int lane : stage.inputs) column.before[lane] = top + inside.at(lane);
    for (const int lane : stage.outputs) column.after[lane] = top + inside.at(lane);
    for (auto& [axis, y] : column.tracks) y += top;
    column.core.top += top, column.core.bottom += top;
    column.box = {0, top, 0, top + height};
  }

  void place_last(const std::map<int, double>& at) {
    std::vector<Stacked> items;
    for (const int lane : order_.last) items.push_back(passing(flow_.steps.size(), lane, at));
    const std::vector<double> tops = stacked(items, lane_gap, std::numeric_limits<double>::max());
    Column& column = result_.columns.back();
    for (std::size_t i = 0; i < tops.size(); ++i)
      column.before[order_.last[i]] = column.after[order_.last[i]] = tops[i];
  }

  const Flow& flow_;
  const Order& order_;
  const std::vector<std::size_t>& starts_;
  Geometry result_;
};

double label_width(const Flow& flow, int lane) {
  double width = text_width(array_label(flow, lane), Font::array);
  for (const AxisId axis : flow.array(lane).axes)
    width = std::max(width, text_width(axis_label(flow, lane, axis), Font::axis) + label_space);
  return width + 14;
}

// Widths of a column's parts, as x from 0.
void set_widths(const Flow& flow, const Order& order, std::size_t c, const std::map<int, double>& at, Column& column) {
  double farthest = 0, label = 0;
  for (const Link& link : flow.gaps[c]) {
    farthest = std::max(farthest, std::abs(at.at(link.from) - column.before.at(link.to)));
    if (changes_level(flow, link)) label = std::max(label, label_width(flow, link.to));
  }
  column.bent = straight + (farthest < 1 ? 4 : 26 + std::min(34.0, farthest * 0.16));
  column.box_left = column.bent + label;
  column.box_right = column.end = column.box_left;
  if (c == flow.steps.size()) return;
  double fan_in = order.stages[c].inputs.size() > 1 ? 44 : 22, fan_out = 18, behind = 0;
  for (const int lane : order.stages[c].outputs) {
    behind = std::max(behind, label_width(flow, lane));
    for (const AxisId axis : flow.array(lane).axes) {
      const auto track = column.tracks.find(axis);
      if (track == column.tracks.end() || std::abs(track->second - port(flow, lane, column.after.at(lane), axis)) > 1)
        fan_out = 34;
    }
  }
  const double core = column.core.right;
  column.core.left = column.box_left + fan_in, column.core.right = column.core.left + core;
  column.box_right = column.core.right + fan_out;
  column.end = column.box_right + behind;
}

void shift(Column& column, double x) {
  for (double* at : {&column.start, &column.bent, &column.box_left, &column.box_right, &column.end, &column.core.left,
                     &column.core.right})
    *at += x;
  column.box.left = column.box_left, column.box.right = column.box_right;
}

double lead_width(const Flow& flow, const std::map<int, double>& lanes, bool inputs) {
  double width = 0;
  for (const auto& [lane, top] : lanes) {
    width = std::max(width, label_width(flow, lane));
    if (!inputs) continue;
    for (const AxisId axis : flow.array(lane).axes)
      width = std::max(width, text_width({.text = axis_label(flow, lane, axis).text,
                                          .subscript = {},
                                          .small = shortened(flow.diagram->axes[index(axis)].size, 14)},
                                         Font::axis) +
                                  label_space);
  }
  return width;
}

// The smallest number of rows that holds all columns, balanced in width.
std::vector<std::size_t> row_starts(const std::vector<double>& widths) {
  const auto fold = [&](double most) {
    std::vector<std::size_t> starts{0};
    double width = 0;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      const bool behind = c + 1 == widths.size();  // the final stores stay in the row of the last box
      if (width > 0 && width + widths[c] > most && !behind) starts.push_back(c), width = 0;
      width += widths[c];
    }
    return starts;
  };
  const std::size_t rows = fold(row_width).size();
  double most = row_width;
  while (most > 300 && fold(most - 20).size() == rows) most -= 20;
  return fold(most);
}

}  // namespace

std::map<int, double> close_together(const Flow& flow, const std::vector<int>& lanes) {
  std::map<int, double> tops;
  double y = 0;
  for (const int lane : lanes) tops[lane] = y, y += lane_height(flow, lane) + lane_gap;
  return tops;
}

Geometry geometry_of(const Flow& flow, const Order& order) {
  Geometry result;
  std::vector<std::map<int, double>> leads;
  std::vector<std::size_t> starts{0};
  for (const bool folded : {false, true}) {  // first in a single row, to measure its width
    Layout layout(flow, order, starts);
    result = layout.run();
    leads = std::move(layout.lead_);
    std::vector<double> widths;
    for (std::size_t c = 0; c < result.columns.size(); ++c) {
      set_widths(flow, order, c, leads[c], result.columns[c]);
      widths.push_back(result.columns[c].end);
    }
    if (!folded) starts = row_starts(widths);
  }
  for (std::size_t r = 0; r < starts.size(); ++r) {
    Row row{.first = starts[r], .last = (r + 1 < starts.size() ? starts[r + 1] : result.columns.size()) - 1};
    row.lanes = leads[row.first];
    row.left = margin, row.lead = margin + lead_width(flow, row.lanes, r == 0);
    double x = row.lead;
    for (std::size_t c = row.first; c <= row.last; ++c) {
      shift(result.columns[c], x);
      result.columns[c].row = static_cast<int>(r);
      x = result.columns[c].end;
    }
    row.right = x + 12;
    result.width = std::max(result.width, row.right + margin);
    result.rows.push_back(row);
  }
  place_rows(flow, result);
  return result;
}

}  // namespace tilescope::draw
