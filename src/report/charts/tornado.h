// A tornado chart: what each of several changes makes of one number, as an SVG that needs no script.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tilescope::report {

struct TornadoBar {
  std::string label, note;         // at the left; shown on hover
  std::optional<double> down, up;  // relative changes with the smaller and the larger value; empty: it cannot run
};

struct Tornado {
  std::string title, subtitle, down_name, up_name;  // "-20 %", "+20 %"
  std::vector<TornadoBar> bars;                     // in the order of the picture
};

// Light and dark follow the reader's system. Bars of "cannot run" reach the edge and are hatched.
std::string tornado_svg(const Tornado& chart);

}  // namespace tilescope::report
