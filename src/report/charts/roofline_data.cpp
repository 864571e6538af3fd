#include "report/charts/roofline_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/contains.h"
#include "base/level.h"
#include "base/text.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

using nlohmann::json;

// Six digits are finer than a pixel and half the size of the page's data.
double for_screen(double value) { return std::stod(fmt::format("{:.6g}", value)); }

double flop_of(const Side& side) {
  for (const char* name : {"tensor_flop", "fma_flop"})
    if (const Number found = count_of(side.work, name); found && *found > 0) return *found;
  return 0;
}

struct Place {
  double x = 0, y = 0;
};

// The place of a side at one level, or nothing when a number that it needs is missing.
std::optional<Place> place_of(const Side& side, const Traffic& traffic) {
  const double bytes = traffic.read_bytes.value_or(0) + traffic.write_bytes.value_or(0);
  const double flop = flop_of(side);
  if (bytes <= 0 || flop <= 0 || side.seconds.value_or(0) <= 0) return std::nullopt;
  return Place{for_screen(flop / bytes), for_screen(flop / *side.seconds)};
}

struct Mark {
  const ReportPoint* point = nullptr;
  std::string level;
  std::optional<Place> predicted, measured;
  int more = 0;
};

std::vector<Mark> marks_of(const Report& report, const RooflinePanel& panel, const std::vector<std::string>& levels) {
  std::vector<Mark> marks;
  for (const std::string& level : levels) {
    const bool operands = only_operands(report, level);
    for (const ReportPoint& point : report.points) {
      if (point.gpu != panel.gpu->id || point.dtype != panel.dtype) continue;
      Mark mark{.point = &point, .level = level, .predicted = {}, .measured = {}};
      mark.predicted = place_of(point.predicted, shown_traffic(point.predicted, level, operands));
      if (point.measured) mark.measured = place_of(*point.measured, shown_traffic(*point.measured, level, operands));
      if (mark.predicted || mark.measured) marks.push_back(std::move(mark));
    }
  }
  return marks;
}

// Whether two places cover one another, in pixels of the panel.
bool covers(const std::optional<Place>& a, const std::optional<Place>& b, const RooflineFrame& frame,
            const RooflinePanel& panel) {
  constexpr double kPixels = 5;
  if (!a || !b) return !a && !b;
  const double x = std::log(a->x / b->x) / std::log(frame.x.high / frame.x.low) * panel.width;
  const double y = std::log(a->y / b->y) / std::log(frame.y.high / frame.y.low) * panel.height;
  return std::abs(x) < kPixels && std::abs(y) < kPixels;
}

// Marks of one level and kernel that would cover one another become one.
std::vector<Mark> thinned(std::vector<Mark> marks, const RooflineFrame& frame, const RooflinePanel& panel) {
  std::vector<Mark> kept;
  for (Mark& mark : marks) {
    const auto same = std::find_if(kept.begin(), kept.end(), [&](const Mark& other) {
      return other.level == mark.level && other.point->kernel == mark.point->kernel &&
             covers(other.predicted, mark.predicted, frame, panel) &&
             covers(other.measured, mark.measured, frame, panel);
    });
    if (same == kept.end()) kept.push_back(std::move(mark));
    else ++same->more;
  }
  return kept;
}

std::vector<RooflinePanel> all_panels(const Report& report) {
  std::vector<RooflinePanel> panels;
  for (const Hardware& gpu : report.gpus) {
    std::map<std::string, int> uses;
    std::vector<std::string> dtypes;
    for (const ReportPoint& point : report.points)
      if (point.gpu == gpu.id && !point.dtype.empty() && ++uses[point.dtype] == 1) dtypes.push_back(point.dtype);
    std::stable_sort(dtypes.begin(), dtypes.end(), [&](const auto& a, const auto& b) { return uses[a] > uses[b]; });
    for (const std::string& dtype : dtypes) panels.push_back({.gpu = &gpu, .dtype = dtype});
  }
  return panels;
}

std::vector<std::string> roof_levels(const Report& report) {
  std::vector<std::string> levels;
  for (const std::string& level : kind_names<LevelId>())
    for (const Hardware& gpu : report.gpus)
      for (const Roof& roof : gpu.roofs)
        if (roof.level == level && !contains(levels, level)) levels.push_back(level);
  return levels;
}

double highest_peak(const RooflinePanel& panel) {
  double highest = 0;
  for (const Peak& peak : panel.gpu->peaks)
    if (peak.dtype == panel.dtype) highest = std::max(highest, peak.flop_per_second);
  return highest;
}

// Small ones side by side, but a large one for a single panel and for the first of a single GPU's several; two are
// equal.
void set_sizes(std::vector<RooflinePanel>& panels, bool one_gpu) {
  for (RooflinePanel& panel : panels) {
    const bool pair = panels.size() == 2, large = panels.size() == 1 || (!pair && one_gpu && &panel == &panels.front());
    panel.width = large ? 1040 : pair ? 470 : 300;
    panel.height = large ? 500 : pair ? 380 : 270;
  }
}

}  // namespace

void AxisRange::cover(double value) {
  if (!(value > 0) || !std::isfinite(value)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

void AxisRange::round_outwards() {
  const double below = std::pow(10, std::floor(std::log10(low))), above = std::pow(10, std::floor(std::log10(high)));
  low = low >= 5 * below ? 5 * below : low >= 2 * below ? 2 * below : below;
  high = high <= above ? above : high <= 2 * above ? 2 * above : high <= 5 * above ? 5 * above : 10 * above;
}

json AxisRange::ticks() const {
  const bool fine = high / low < 201;
  json values = json::array();
  for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high * 1.001; decade *= 10)
    for (const double step : {1., 2., 5.})
      if ((fine || step == 1.) && decade * step >= low * 0.999 && decade * step <= high * 1.001)
        values.push_back(decade * step);
  return values;
}

std::vector<RooflinePanel> roofline_panels(const Report& report) {
  const std::vector<std::string> levels = roof_levels(report);
  std::vector<RooflinePanel> panels = all_panels(report);
  std::erase_if(panels, [&](const RooflinePanel& panel) { return marks_of(report, panel, levels).empty(); });
  if (panels.size() > kMostPanels) panels.resize(kMostPanels);
  set_sizes(panels, report.gpus.size() == 1);
  return panels;
}

RooflineFrame roofline_frame(const Report& report) {
  RooflineFrame frame{.x = {}, .y = {}, .levels = roof_levels(report)};
  const std::vector<RooflinePanel> panels = roofline_panels(report);
  for (const RooflinePanel& panel : panels)
    for (const Mark& mark : marks_of(report, panel, frame.levels))
      for (const auto& place : {mark.predicted, mark.measured})
        if (place) frame.x.cover(place->x), frame.y.cover(place->y);
  frame.x.cover(frame.x.low / 5);  // room for the names of the roofs, left of the marks
  frame.y.cover(frame.y.low / 1.5);
  for (const RooflinePanel& panel : panels)
    if (const double peak = highest_peak(panel); peak > 0) {
      frame.y.cover(peak * 1.3);
      for (const Roof& roof : panel.gpu->roofs) frame.x.cover(peak / roof.bytes_per_second);
    }
  frame.x.round_outwards();
  frame.y.round_outwards();
  return frame;
}

json roofline_marks(const Report& report, const RooflinePanel& panel, const RooflineFrame& frame) {
  json rows = json::array();
  for (const Mark& mark : thinned(marks_of(report, panel, frame.levels), frame, panel)) {
    json row{{"id", mark.point->key}, {"level", mark.level}};
    if (mark.predicted) row["x"] = mark.predicted->x, row["y"] = mark.predicted->y;
    if (mark.measured) row["mx"] = mark.measured->x, row["my"] = mark.measured->y;
    if (mark.more > 0) row["more"] = mark.more;
    rows.push_back(std::move(row));
  }
  return rows;
}

json roofline_roofs(const RooflinePanel& panel, const RooflineFrame& frame) {
  constexpr int kNameLength = 104, kClose = 26;  // pixels, along the roof and across in height
  std::vector<Roof> roofs = panel.gpu->roofs;
  std::stable_sort(roofs.begin(), roofs.end(),
                   [](const Roof& a, const Roof& b) { return a.bytes_per_second > b.bytes_per_second; });
  const double peak = highest_peak(panel);
  json rows = json::array();
  bool shifted = false;
  for (std::size_t i = 0; i < roofs.size(); ++i) {
    const Roof& roof = roofs[i];
    const double end = peak > 0 ? std::min(frame.x.high, peak / roof.bytes_per_second) : frame.x.high;
    const double start = std::max(frame.x.low, frame.y.low / roof.bytes_per_second);
    const double above = i == 0 ? kClose
                                : std::log(roofs[i - 1].bytes_per_second / roof.bytes_per_second) /
                                      std::log(frame.y.high / frame.y.low) * panel.height;
    shifted = above < kClose && !shifted;
    rows.push_back({{"level", roof.level},
                    {"x", for_screen(start)},
                    {"y", for_screen(start * roof.bytes_per_second)},
                    {"x2", for_screen(end)},
                    {"y2", for_screen(end * roof.bytes_per_second)},
                    {"shift", shifted ? kNameLength : 8},
                    {"basis", roof.basis},
                    {"rate", with_si(roof.bytes_per_second, "B/s")},
                    {"label", level_short(roof.level) + " " + with_si(roof.bytes_per_second, "B/s")}});
  }
  return rows;
}

json roofline_peaks(const RooflinePanel& panel, const RooflineFrame& frame) {
  json peaks = json::array();
  double fastest = 0;
  for (const Roof& roof : panel.gpu->roofs) fastest = std::max(fastest, roof.bytes_per_second);
  for (const Peak& peak : panel.gpu->peaks) {
    if (peak.dtype != panel.dtype) continue;
    const double start = fastest > 0 ? std::max(frame.x.low, peak.flop_per_second / fastest) : frame.x.low;
    const std::string rate = with_si(peak.flop_per_second, "FLOP/s");
    peaks.push_back({{"x", start},
                     {"x2", frame.x.high},
                     {"y", peak.flop_per_second},
                     {"rate", rate},
                     {"label", peak.path + " " + rate}});
  }
  return peaks;
}

}  // namespace tilescope::report
