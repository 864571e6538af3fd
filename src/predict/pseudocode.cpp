#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "predict/island.h"

namespace tilescope {
namespace {

// Lines of one island: an array's load stands inside the innermost loop that moves it, its store after that loop.
class Writer {
 public:
  explicit Writer(const BoundIsland& bound) : bound_(bound), diagram_(bound.plan.schedule.diagram) {}

  std::string run() {
    line(0, fmt::format("kernel {}:", bound_.island.name));
    loop(0, 1);
    return text_;
  }

 private:
  void line(int depth, const std::string& content) { text_ += std::string(static_cast<std::size_t>(depth) * 2, ' ') + content + "\n"; }

  void loop(int position, int depth) {
    move(position - 1, depth, true);
    if (position == static_cast<int>(bound_.nest.loop_count)) {
      for (const int op : bound_.island.operators) work(diagram_.operators[static_cast<std::size_t>(op)], depth);
    } else {
      const BoundLoop& l = bound_.nest.loops[static_cast<std::size_t>(position)];
      const std::string axis = diagram_.axes[index(l.axis)].name, size = diagram_.axes[index(l.axis)].size;
      const bool masked = bound_.nest.guarded() && (position == std::max(bound_.nest.query_loop, bound_.nest.key_loop));
      line(depth, fmt::format("{} {} in {} of {} ({} x {}){}:", l.group ? "parallel for" : "for", axis, size, l.size, l.trips, l.tile,
                              masked ? ", live tiles only" : ""));
      loop(position + 1, depth + 1);
    }
    move(position - 1, depth, false);
  }

  // Loads (before the body) or stores (after it) of the arrays whose tile the loop at `position` moves last.
  void move(int position, int depth, bool before) {
    for (std::size_t i = 0; i < diagram_.arrays.size(); ++i) {
      const auto id = static_cast<ArrayId>(static_cast<int>(i));
      if (last_loop(bound_.nest, diagram_.arrays[i].axes) != position) continue;
      const std::string bytes = with_thousands(tile_bytes(bound_, id));
      if (before && loads(bound_, id)) line(depth, fmt::format("load {} tile, {} bytes, l2 -> smem", diagram_.arrays[i].name, bytes));
      if (before && stores(bound_, id)) line(depth, fmt::format("start {} tile on chip", diagram_.arrays[i].name));
      if (!before && stores(bound_, id)) line(depth, fmt::format("store {} tile, {} bytes, -> l2", diagram_.arrays[i].name, bytes));
    }
  }

  void work(const Operator& op, int depth) {
    std::vector<std::string> in, out;
    for (const ArrayId id : op.inputs) in.push_back(diagram_.array(id).name);
    for (const ArrayId id : op.outputs) out.push_back(diagram_.array(id).name);
    const char* verb = op.kind == OperatorKind::contraction ? "contract" : "softmax of";
    line(depth, fmt::format("{} <- {} {}", join(out, ", "), verb, join(in, ", ")));
  }

  const BoundIsland& bound_;
  const Diagram& diagram_;
  std::string text_;
};

}  // namespace

std::string pseudocode(const Plan& plan, const Point& point) {
  const HardwareProfile none;
  std::string text;
  for (int i = 0; i < static_cast<int>(plan.schedule.islands.size()); ++i) text += Writer(bind_island(plan, none, point, i)).run();
  return text;
}

}  // namespace tilescope
