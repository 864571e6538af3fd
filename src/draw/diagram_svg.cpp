#include "draw/diagram_svg.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "draw/painter.h"
#include "draw/style.h"

namespace tilescope {
namespace {

constexpr double narrowest = 460;  // room for the legend

// The alternative text of the picture.
std::string description(const draw::Flow& flow) {
  const Diagram& diagram = *flow.diagram;
  std::vector<std::string> sentences;
  int island = -1;
  for (const draw::Step& step : flow.steps) {
    if (flow.schedule != nullptr && step.island != island) {
      island = step.island;
      sentences.push_back(fmt::format("Island {}:", flow.schedule->islands[static_cast<std::size_t>(island)].name));
    }
    const Operator& op = flow.op(step);
    std::vector<std::string> inputs, outputs;
    for (const ArrayId id : diagram.fetched_by(op)) inputs.push_back(diagram.array(id).name);
    for (const ArrayId id : op.outputs) outputs.push_back(diagram.array(id).name);
    sentences.push_back(
        fmt::format("{} ({}) makes {} from {}.", op.name, to_string(op.kind), join(outputs, ", "), join(inputs, ", ")));
  }
  return join(sentences, " ");
}

}  // namespace

DiagramPicture draw_diagram(const Diagram& diagram, const Schedule* schedule) {
  const draw::Flow flow = draw::flow_of(diagram, schedule);
  const draw::Order order = draw::order_of(flow);
  const draw::Geometry geometry = draw::geometry_of(flow, order);
  draw::Canvas canvas;
  draw::draw_frames(flow, geometry, canvas);
  draw::draw_boxes(flow, order, geometry, canvas);
  draw::draw_wires(flow, order, geometry, canvas);
  DiagramPicture picture;
  picture.width = std::max(geometry.width, narrowest);
  picture.height = geometry.height + 16;
  picture.height += draw::draw_legend(flow, picture.height, picture.width, canvas) + draw::margin;
  picture.texts = canvas.texts();
  const std::string title = flow.diagram->name + (schedule != nullptr ? " under the schedule " + schedule->name : "");
  const std::string size = fmt::format("{} {}", draw::number(picture.width), draw::number(picture.height));
  picture.svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" class="napkin" role="img" aria-label="Diagram of {0}" )"
      R"(viewBox="0 0 {1}" width="{2}" height="{3}">)"
      "\n<title>Diagram of {0}</title>\n<desc>{4}</desc>\n<style>{5}</style>\n{6}</svg>\n",
      draw::xml_text(draw::shortened(title, 160)), size, draw::number(picture.width), draw::number(picture.height),
      draw::xml_text(draw::shortened(description(flow), 4000)), draw::picture_style(), canvas.content());
  return picture;
}

std::string diagram_svg(const Diagram& diagram, const Schedule* schedule) {
  return draw_diagram(diagram, schedule).svg;
}

}  // namespace tilescope
