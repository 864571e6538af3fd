#include "draw/memory_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "draw/canvas.h"

namespace tilescope {
namespace {

constexpr double kWide = 1040, kHigh = 460, kLeft = 86, kRight = 830, kTop = 16, kBottom = 404, kLine = 16;
constexpr int kColours = 6;

// Where a value stands between two ends, both logarithmic.
struct Scale {
  double low = 0, high = 0, from = 0, to = 0;
  double at(double value) const { return from + (to - from) * std::log(value / low) / std::log(high / low); }
};

struct Label {
  const PlotCurve* curve = nullptr;
  double y = 0;  // of the curve's end, then of the text
  std::string style;
};

Scale y_scale(const LogPlot& plot) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const PlotCurve& curve : plot.curves)
    for (const auto& value : curve.values)
      if (value && *value > 0) low = std::min(low, *value), high = std::max(high, *value);
  return {low / 1.3, high * 1.3, kBottom, kTop};
}

std::string ticks_svg(const Scale& x, const Scale& y) {
  std::string svg;
  const auto decades = [](const Scale& scale, const auto& draw) {
    for (double value = std::pow(10, std::ceil(std::log10(scale.low))); value <= scale.high; value *= 10) draw(value);
  };
  decades(x, [&](double value) {
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{0:.1f} {1}V{2}\"/><text x=\"{0:.1f}\" y=\"{3}\" "
        "text-anchor=\"middle\">{4}</text>\n",
        x.at(value), kTop, kBottom, kBottom + 18, with_si(value, ""));
  });
  decades(y, [&](double value) {
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{0} {1:.1f}H{2}\"/><text x=\"{3}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5}</text>\n",
        kLeft, y.at(value), kRight, kLeft - 8, y.at(value) + 4, with_si(value, ""));
  });
  return svg;
}

std::string path_of(const LogPlot& plot, const PlotCurve& curve, const Scale& x, const Scale& y) {
  std::string path;
  bool pen_down = false;
  for (std::size_t i = 0; i < plot.x.size(); ++i) {
    const bool drawn = i < curve.values.size() && curve.values[i] && *curve.values[i] > 0;
    if (drawn) path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", x.at(plot.x[i]), y.at(*curve.values[i]));
    pen_down = drawn;
  }
  return path;
}

// Names at the right, moved apart where curves end close together.
std::string labels_svg(std::vector<Label> labels) {
  std::stable_sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) { return a.y < b.y; });
  std::vector<double> ends;
  for (Label& label : labels) ends.push_back(label.y);
  for (std::size_t i = 1; i < labels.size(); ++i) labels[i].y = std::max(labels[i].y, labels[i - 1].y + kLine);
  if (!labels.empty() && labels.back().y > kBottom) {
    labels.back().y = kBottom;
    for (std::size_t i = labels.size() - 1; i > 0; --i)
      labels[i - 1].y = std::min(labels[i - 1].y, labels[i].y - kLine);
  }
  std::string svg;
  for (std::size_t i = 0; i < labels.size(); ++i)
    svg += fmt::format(
        "<path class=\"lead\" d=\"M{} {:.1f}L{} {:.1f}\"/><text x=\"{}\" y=\"{:.1f}\" style=\"fill: "
        "{}\">{}</text>\n",
        kRight + 2, ends[i], kRight + 18, labels[i].y, kRight + 22, labels[i].y + 4, labels[i].style,
        draw::xml_text(labels[i].curve->name));
  return svg;
}

}  // namespace

std::string log_plot_svg(const LogPlot& plot) {
  if (plot.x.size() < 2 || plot.curves.empty()) return {};
  const Scale x{plot.x.front(), plot.x.back(), kLeft, kRight}, y = y_scale(plot);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "role=\"img\" aria-label=\"{2}\">\n<title>{2}</title>\n{3}",
      kWide, kHigh, draw::xml_text(plot.title), ticks_svg(x, y));
  svg +=
      fmt::format("<path class=\"marked\" d=\"M{0:.1f} {1}V{2}\"/><text x=\"{3:.1f}\" y=\"{4}\">{5}</text>\n",
                  x.at(plot.marked_x), kTop, kBottom, x.at(plot.marked_x) + 5, kTop + 12, draw::xml_text(plot.marked));
  std::vector<Label> labels;
  int colour = 0;
  for (const PlotCurve& curve : plot.curves) {
    const bool main = curve.kind == PlotCurve::Kind::main;
    const std::string style = main ? fmt::format("var(--curve-{})", colour++ % kColours + 1) : "var(--ink-2)";
    const char* dash = curve.kind == PlotCurve::Kind::bound ? " stroke-dasharray=\"6 4\"" : "";
    const std::string path = path_of(plot, curve, x, y);
    if (path.empty()) continue;
    svg += fmt::format(
        "<path fill=\"none\" style=\"stroke: {}\" stroke-width=\"{}\"{} d=\"{}\"><title>{}</title></path>\n", style,
        main ? "2.2" : "1.2", dash, path, draw::xml_text(curve.name));
    const auto last =
        std::find_if(curve.values.rbegin(), curve.values.rend(), [](const auto& v) { return v && *v > 0; });
    labels.push_back({&curve, y.at(**last), style});
  }
  svg += labels_svg(std::move(labels));
  return svg + fmt::format(
                   "<text x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">{2}</text>\n<text x=\"16\" y=\"{3}\" "
                   "text-anchor=\"middle\" transform=\"rotate(-90 16 {3})\">{4}</text>\n</svg>\n",
                   (kLeft + kRight) / 2, kBottom + 44, draw::xml_text(plot.x_title), (kTop + kBottom) / 2,
                   draw::xml_text(plot.y_title));
}

}  // namespace tilescope
