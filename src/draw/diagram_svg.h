// The diagram of FlashAttention on a Napkin (arXiv 2412.03317, section 2) as SVG: columns of data and of operators, an
// array as a stack of wires, colours as levels.
#pragma once

#include <string>
#include <vector>

#include "diagram/diagram.h"
#include "draw/canvas.h"
#include "schedule/schedule.h"

namespace tilescope {

// The picture with the place of every text in it, in CSS pixels at full size.
struct DiagramPicture {
  std::string svg{};
  double width = 0, height = 0;
  std::vector<draw::PlacedText> texts{};
};

// With a schedule, its own diagram is drawn (accumulators, partial results): an island is a frame, what is inside of it
// is on chip, and an operator that several islands run stands in each. Without one everything is at the outer level.
// `diagram` and the schedule's are as the readers leave them. Names are escaped; deterministic; several pictures may
// stand in one page.
DiagramPicture draw_diagram(const Diagram& diagram, const Schedule* schedule);
std::string diagram_svg(const Diagram& diagram, const Schedule* schedule);

}  // namespace tilescope
