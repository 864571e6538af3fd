#include <algorithm>

#include "draw/painter.h"

namespace tilescope::draw {
namespace {

constexpr double line_height = 20, sample = 30;

struct Key {
  // Class of a wire; "island", "dot chip" and "tuple" are drawn as such symbols; empty: the entry has text only.
  std::string css{};
  Label symbol{};
  std::string meaning{};
};

std::vector<Key> keys_of(const Flow& flow) {
  const auto any = [&](auto holds) { return std::any_of(flow.lanes.begin(), flow.lanes.end(), holds); };
  std::vector<Key> keys{
      {"w",
       {},
       flow.schedule != nullptr ? "array in outer memory (HBM), one wire an axis" : "array, one wire an axis"}};
  if (flow.schedule != nullptr) {
    keys.push_back({"w chip", {}, "on chip"});
    keys.push_back({"dot", {}, "changes level: a load or a store"});
    if (any([](const Lane& lane) { return lane.state && lane.island >= 0; }))
      keys.push_back({"w chip state", {}, "running state (+=), on chip"});
    if (any([](const Lane& lane) { return lane.state && lane.island < 0; }))
      keys.push_back({"w state", {}, "added to in outer memory"});
    keys.push_back({"island", {}, "island: one kernel"});
    keys.push_back({"", {.text = "g", .subscript = "a"}, "axis a grouped: a tile a block"});
    keys.push_back({"", {.text = "s", .subscript = "a"}, "axis a streamed: a tile a step"});
  }
  if (flow.lanes.size() > 1) keys.push_back({"tuple", {}, "between arrays"});
  if (any([](const Lane& lane) { return lane.view; }))
    keys.push_back({flow.schedule != nullptr ? "w chip view" : "w view", {}, "view of another array"});
  if (any([](const Lane& lane) { return lane.places; }))
    keys.push_back({flow.schedule != nullptr ? "w chip places" : "w places", {}, "places, not values"});
  return keys;
}

void draw_sample(const Key& key, double x, double y, Canvas& canvas) {
  if (key.css.empty()) return canvas.text(x + 10, y + 4, key.symbol, Font::axis);
  if (key.css == "island") return canvas.rect(Layer::frames, {x, y - 6, x + sample - 6, y + 6}, 4, "island");
  if (key.css == "dot") {
    canvas.path(Layer::wires, line(x, y, x + 12), "w");
    canvas.path(Layer::wires, line(x + 12, y, x + sample - 6), "w chip");
    return canvas.circle(Layer::cores, x + 12, y, 2.4, "dot chip");
  }
  canvas.path(Layer::wires, line(x, y, x + sample - 6), key.css);
  if (key.css.find("state") != std::string::npos) canvas.path(Layer::wires, line(x, y, x + sample - 6), "hollow");
}

}  // namespace

double draw_legend(const Flow& flow, double top, double width, Canvas& canvas) {
  double x = margin, y = top + line_height / 2;
  for (const Key& key : keys_of(flow)) {
    const double needed = sample + text_width({.text = key.meaning}, Font::note);
    if (x > margin && x + needed > width - margin) x = margin, y += line_height;
    draw_sample(key, x, y, canvas);
    canvas.text(x + sample, y + 4, {.text = key.meaning}, Font::note);
    x += needed + 22;
  }
  return y + line_height / 2 - top;
}

}  // namespace tilescope::draw
