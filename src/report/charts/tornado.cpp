#include "report/charts/tornado.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

constexpr double label_width = 300, plot_width = 460, value_width = 76, row_height = 26, top = 84;

constexpr const char* tornado_style =
    "<style>.t{font:13px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:#1c2430}.h{font-size:16px;"
    "font-weight:600}.q{fill:#566072}.d{fill:#b3541e}.u{fill:#1f6f8b}.a{stroke:#8a93a3}.g{stroke:#dde1e8}"
    ".b{fill:#fff}@media(prefers-color-scheme:dark){.t{fill:#e8ebf0}.q{fill:#a9b2c0}.d{fill:#e8935a}.u{fill:#6fc0dc}"
    ".g{stroke:#3a424f}.b{fill:#14181f}}</style>";

// Half of the axis: 1, 2 or 5 times a power of ten that holds every bar.
double reach_of(const Tornado& chart) {
  double most = 0.01;
  for (const TornadoBar& bar : chart.bars)
    for (const auto& side : {bar.down, bar.up})
      if (side) most = std::max(most, std::abs(*side));
  const double power = std::pow(10, std::floor(std::log10(most)));
  for (const double step : {1., 2., 5.})
    if (step * power >= most * 0.999) return step * power;
  return 10 * power;
}

std::string change_text(const std::optional<double>& change) {
  return change ? fmt::format("{:+.1f} %", *change * 100) : "cannot run";
}

std::string text_at(double x, double y, const char* css, const char* anchor, const std::string& text) {
  return fmt::format("<text class=\"t {}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", css, x, y, anchor,
                     escape_html(text));
}

// One side of a bar, and its number behind its end. A change that reads 0.0 % has none: it would lie on the other one.
std::string side_of(const std::optional<double>& change, double y, double height, double reach, const char* css) {
  const double middle = label_width + value_width + plot_width / 2, half = plot_width / 2;
  const double end = middle + (change ? std::clamp(*change / reach, -1., 1.) : 1) * half;
  const double left = std::min(middle, end), width = std::max(std::abs(end - middle), 0.5);
  const bool rightward = end >= middle;
  return fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"{}/>\n", css, left,
                     y, width, height,
                     change ? "" : " fill-opacity=\"0.35\" stroke=\"currentColor\" stroke-dasharray=\"4 3\"") +
         (change && std::abs(*change) < 0.0005 ? ""
                                               : text_at(end + (rightward ? 5 : -5), y + height - 1, "q",
                                                         rightward ? "start" : "end", change_text(change)));
}

std::string axis_of(double reach, double bottom) {
  std::string out;
  for (const double part : {-1., -0.5, 0., 0.5, 1.}) {
    const double x = label_width + value_width + plot_width / 2 * (1 + part);
    out += fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                       part == 0 ? "a" : "g", x, top - 6, x, bottom);
    out += text_at(x, top - 12, "q", "middle", part == 0 ? "time" : fmt::format("{:+g} %", part * reach * 100));
  }
  return out;
}

}  // namespace

std::string tornado_svg(const Tornado& chart) {
  const double reach = reach_of(chart), bottom = top + row_height * static_cast<double>(chart.bars.size());
  const double width = label_width + plot_width + 2 * value_width + 10;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {:.0f} {:.0f}\" "
      "width=\"{:.0f}\" height=\"{:.0f}\">\n{}\n<rect class=\"b\" width=\"100%\" height=\"100%\"/>\n",
      escape_html(chart.title + ". " + chart.subtitle), width, bottom + 14, width, bottom + 14, tornado_style);
  out += text_at(12, 24, "h", "start", chart.title) + text_at(12, 44, "q", "start", chart.subtitle);
  out += fmt::format("<rect class=\"d\" x=\"12\" y=\"53\" width=\"12\" height=\"12\"/>\n") +
         text_at(30, 64, "q", "start", chart.down_name) +
         fmt::format("<rect class=\"u\" x=\"92\" y=\"53\" width=\"12\" height=\"12\"/>\n") +
         text_at(110, 64, "q", "start", chart.up_name);
  out += axis_of(reach, bottom);
  double y = top;
  for (const TornadoBar& bar : chart.bars) {
    out += fmt::format("<g><title>{}</title>\n", escape_html(bar.note));
    out += text_at(label_width, y + 16, "", "end", bar.label);
    out += side_of(bar.down, y + 2, 10, reach, "d") + side_of(bar.up, y + 13, 10, reach, "u") + "</g>\n";
    y += row_height;
  }
  return out + "</svg>\n";
}

}  // namespace tilescope::report
