#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "draw/layout/geometry.h"

namespace tilescope::draw {
namespace {

constexpr double frame_padding = 10, heading_line = 17, between_rows = 26;

std::string tile_text(const Schedule& schedule, const TileSize& tile) {
  if (tile.parameter < 0) return fmt::format("{}{}", tile.literal, tile.parts ? " parts" : "");
  const Parameter& parameter = schedule.parameters[static_cast<std::size_t>(tile.parameter)];
  return fmt::format("{} ({}){}", shortened(parameter.name, 16), parameter.default_value, tile.parts ? " parts" : "");
}

Label loop_label(const Schedule& schedule, const Loop& loop) {
  const Axis& axis = schedule.diagram.axes[index(loop.axis)];
  Label label{.text = loop.partition == Partition::group ? "g" : "s",
              .subscript = shortened(axis.name, 12),
              .small = "= " + tile_text(schedule, loop.tile)};
  for (const Chunking& chunks : schedule.chunks)
    if (chunks.axis == loop.axis && axis.chunks_of)
      label.small = fmt::format("= 1; {} in {}", shortened(schedule.diagram.axes[index(chunks.of)].name, 12),
                                tile_text(schedule, chunks.length));
  return label;
}

// Fills lines of the frame's width from its top left; returns the height they take.
double place_heading(const Flow& flow, Frame& frame, bool continued) {
  const Schedule& schedule = *flow.schedule;
  const Island& island = schedule.islands[static_cast<std::size_t>(frame.island)];
  const double left = frame.box.left + frame_padding, right = frame.box.right - frame_padding;
  double x = left, y = heading_line;
  const std::string more = continued ? " (continued)" : "";
  frame.items.push_back({{.text = fitted(island.name + more, Font::island, right - left)}, Font::island, x, y});
  x += text_width(frame.items.back().label, Font::island) + 18;
  for (const Loop& loop : island.loops) {
    Label label = loop_label(schedule, loop);
    while (label.small.size() > 4 && text_width(label, Font::axis) > right - left)
      label.small = shortened(label.small, label.small.size() - 3);
    const double width = text_width(label, Font::axis);
    if (x + width > right && x > left) x = left, y += heading_line;
    frame.items.push_back({label, Font::axis, x, y});
    x += width + 14;
  }
  return y + 8;
}

std::vector<Frame> frames_of(const Flow& flow, const Row& row, const Geometry& geometry) {
  std::vector<Frame> frames;
  for (std::size_t c = row.first; c <= row.last && c < flow.steps.size(); ++c) {
    const int island = flow.steps[c].island;
    if (frames.empty() || frames.back().island != island) {
      frames.push_back({.island = island});
      frames.back().box.left = geometry.columns[c].start + straight / 2;
    }
    frames.back().box.right = geometry.columns[c].end - 3;
  }
  return frames;
}

void shift(std::map<int, double>& tops, double y) {
  for (auto& [lane, top] : tops) top += y;
}

}  // namespace

std::string fitted(const std::string& text, Font font, double width) {
  std::string fit = shortened(text, 200);
  for (std::size_t most = 199; most > 1 && text_width({.text = fit}, font) > width; --most) fit = shortened(text, most);
  return fit;
}

void place_rows(const Flow& flow, Geometry& geometry) {
  double y = margin;
  for (std::size_t r = 0; r < geometry.rows.size(); ++r) {
    Row& row = geometry.rows[r];
    double top = std::numeric_limits<double>::max(), bottom = std::numeric_limits<double>::lowest();
    const auto cover = [&](const std::map<int, double>& tops) {
      for (const auto& [lane, at] : tops)
        top = std::min(top, at), bottom = std::max(bottom, at + lane_height(flow, lane));
    };
    cover(row.lanes);
    for (std::size_t c = row.first; c <= row.last; ++c) {
      const Column& column = geometry.columns[c];
      cover(column.before), cover(column.after);
      if (c < flow.steps.size()) top = std::min(top, column.box.top), bottom = std::max(bottom, column.box.bottom);
    }
    if (top > bottom) top = bottom = 0;
    std::vector<Frame> frames = flow.schedule != nullptr ? frames_of(flow, row, geometry) : std::vector<Frame>{};
    double heading = 0;
    for (Frame& frame : frames) {
      const bool continued =
          row.first > 0 && &frame == &frames.front() && flow.steps[row.first - 1].island == frame.island;
      heading = std::max(heading, place_heading(flow, frame, continued));
    }
    row.top = y + heading + 4, row.bottom = row.top + bottom - top;
    for (Frame& frame : frames) {
      frame.box.top = y, frame.box.bottom = row.bottom + frame_padding;
      for (Frame::Item& item : frame.items) item.baseline += y;
      geometry.frames.push_back(frame);
    }
    shift(row.lanes, row.top - top);
    for (std::size_t c = row.first; c <= row.last; ++c) {
      Column& column = geometry.columns[c];
      shift(column.before, row.top - top), shift(column.after, row.top - top);
      for (auto& [axis, at] : column.tracks) at += row.top - top;
      for (Box* box : {&column.box, &column.core}) box->top += row.top - top, box->bottom += row.top - top;
    }
    y = row.bottom + frame_padding + between_rows;
  }
  geometry.height = y - between_rows;
}

}  // namespace tilescope::draw
