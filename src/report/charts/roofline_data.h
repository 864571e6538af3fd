// What rooflines draw: their axes, roofs, peaks and marks. The only arithmetic is layout.
#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/model.h"

namespace tilescope::report {

// The range of an axis: grown by what is shown, then rounded outwards to 1, 2 or 5 times a power of ten.
struct AxisRange {
  double low = std::numeric_limits<double>::infinity(), high = 0;

  void cover(double value);
  void round_outwards();
  nlohmann::json ticks() const;  // decades, and 2 and 5 between them while there is room
};

// The axes that all panels of a report share, and the levels that they show.
struct RooflineFrame {
  AxisRange x, y;
  std::vector<std::string> levels;  // outermost first: those that some GPU has a roof of
};
RooflineFrame roofline_frame(const Report& report);

// A GPU and a format of its products.
struct RooflinePanel {
  const Hardware* gpu = nullptr;
  std::string dtype;
  int width = 0, height = 0;  // pixels; the width is that of a wide screen
};
inline constexpr std::size_t kMostPanels = 12;
std::vector<RooflinePanel> roofline_panels(const Report& report);  // those that have marks, at most kMostPanels

// {id, level, x, y, mx, my, more}: predicted and measured place of a point at a level, and how many points near by it
// stands for.
nlohmann::json roofline_marks(const Report& report, const RooflinePanel& panel, const RooflineFrame& frame);
// {level, x, y, x2, y2, shift, basis, rate, label}: the roof from where it enters the frame to its
// ridge, or to the right edge when no peak is known. `shift` keeps names on close roofs apart.
nlohmann::json roofline_roofs(const RooflinePanel& panel, const RooflineFrame& frame);
// {x, x2, y, rate, label}: the flat roof of each instruction path, from the ridge of the fastest memory.
nlohmann::json roofline_peaks(const RooflinePanel& panel, const RooflineFrame& frame);

}  // namespace tilescope::report
