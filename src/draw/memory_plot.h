// Curves over a logarithmic axis, as an SVG that needs no script: each curve is named at its right end.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tilescope {

struct PlotCurve {
  enum class Kind { main, other, bound };  // thick; thin; dashed
  std::string name;
  Kind kind = Kind::main;
  std::vector<std::optional<double>> values;  // by the plot's x; a gap where there is none
};

struct LogPlot {
  std::string title, x_title, y_title;
  std::vector<double> x;  // ascending, positive
  double marked_x = 0;    // a vertical line with `marked`
  std::string marked;
  std::vector<PlotCurve> curves;
};

// Takes its colours from the custom properties --ink, --ink-2, --grid, --rule and --curve-1 to --curve-6 of the page.
std::string log_plot_svg(const LogPlot& plot);

}  // namespace tilescope
