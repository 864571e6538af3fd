#include "predict/explain/pseudocode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "predict/point/footprint.h"
#include "predict/point/products.h"

namespace tilescope {
namespace {

// How tiles reach shared memory: what the kernel's instructions need, or, of an assumed one, what the GPU offers.
std::string copy_feature(const HardwareProfile& hardware, const IslandImplementation& how) {
  if (!how.path().assumed) return std::string(how.load().title);
  if (hardware.vendor.empty()) return "copy";
  if (hardware.vendor != "NVIDIA") return "load to shared memory";
  const double capability = std::strtod(hardware.compute_capability.c_str(), nullptr);
  return capability >= 9 ? "cp.async or TMA bulk copy" : capability >= 8 ? "cp.async" : "load through registers";
}

bool calls_exp(const Expression& expression) {
  const auto operands = expression.operands();
  return expression.is_call(Function::exp) ||
         std::any_of(operands.begin(), operands.end(), [](const Expression& operand) { return calls_exp(operand); });
}

// Lines of one island: an array's load stands inside the innermost loop that moves it, its store after that loop.
class Writer {
 public:
  explicit Writer(const BoundIsland& bound)
      : bound_(bound), schedule_(bound.plan.schedule), diagram_(schedule_.diagram) {}

  std::string run() {
    line(0, fmt::format("kernel {}: {} blocks of {} warps", bound_.island.name, with_thousands(bound_.nest.blocks()),
                        bound_.point.warps));
    if (bound_.how.uses_tensor_cores()) {
      allocate("smem", smem_of_block(bound_));
      allocate("registers", registers_of_block(bound_));
    }
    loop(0, 1);
    return text_;
  }

 private:
  void line(int depth, const std::string& content) {
    text_ += std::string(static_cast<std::size_t>(depth) * 2, ' ') + content + "\n";
  }
  // What is done, then where, how many and by what, in a column of its own.
  void line(int depth, const std::string& what, const std::string& detail) {
    const std::string start = std::string(static_cast<std::size_t>(depth) * 2, ' ') + what;
    text_ += fmt::format("{:<46}  # {}\n", start, detail);
  }

  void allocate(const char* where, const Allocations& kept) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < kept.count; ++i) {
      const Allocation& one = kept.list[i];
      parts.push_back(fmt::format("{}{} {}{}", one.copies > 1 ? fmt::format("{} x ", one.copies) : "",
                                  diagram_.array(one.array).name, with_thousands(one.tile_bytes),
                                  one.accumulator ? " fp32" : ""));
    }
    if (!parts.empty())
      line(1, fmt::format("allocate {}", where),
           fmt::format("{} bytes: {}", with_thousands(kept.bytes), join(parts, ", ")));
  }

  std::string loop_text(int position) const {
    const BoundLoop& l = bound_.nest.loops[static_cast<std::size_t>(position)];
    const Axis& axis = diagram_.axes[index(l.axis)];
    const char* how = l.group ? "parallel for" : "for";
    const Chunked& cut = bound_.nest.chunked;
    const bool masked = bound_.nest.guarded() && position == std::max(bound_.nest.query_loop, bound_.nest.key_loop);
    const std::string live = masked ? ", live tiles only" : "";
    if (axis.chunks_of)
      return fmt::format("{} part of {} in {} parts{}:", how, diagram_.axes[index(*axis.chunks_of)].name, l.trips,
                         l.group ? "" : live);
    if (cut.present() && position == cut.inner)
      return fmt::format("{} {} in its part of {} ({} x {}){}:", how, axis.name, cut.length, l.trips, l.tile, live);
    return fmt::format("{} {} in {} of {} ({} x {}){}:", how, axis.name, axis.size, l.size, l.trips, l.tile, live);
  }

  void loop(int position, int depth) {
    const bool loaded = move_in(position - 1, depth);
    if (loaded && bound_.how.uses_tensor_cores())
      line(depth, "barrier",
           bound_.how.stages > 1 ? fmt::format("the oldest of {} stages has arrived", bound_.how.stages)
                                 : "all copies have arrived");
    if (position == static_cast<int>(bound_.nest.loop_count)) {
      for (const int op : bound_.island.operators) work(diagram_.operators[static_cast<std::size_t>(op)], depth);
    } else {
      line(depth, loop_text(position));
      loop(position + 1, depth + 1);
    }
    move_out(position - 1, depth);
  }

  template <class Visit>
  void moved_by(int position, Visit visit) const {
    for (std::size_t i = 0; i < diagram_.arrays.size(); ++i)
      if (last_loop(bound_.nest, diagram_.arrays[i].axes) == position)
        visit(static_cast<ArrayId>(static_cast<int>(i)), diagram_.arrays[i].name);
  }
  std::string tile(ArrayId id) const { return with_thousands(tile_bytes(bound_, id)) + " bytes"; }

  // Whether the loop comes back to this result, which then lies complete in memory only at the end.
  bool comes_back(ArrayId id) const {
    const Axes axes = diagram_.array(id).axes;
    return touched_values(bound_.leaving(id), bound_.live, axes) >
           distinct_values(bound_.leaving(id), bound_.live, axes);
  }

  bool move_in(int position, int depth) {
    bool loaded = false;
    moved_by(position, [&](ArrayId id, const std::string& name) {
      const bool tensor = bound_.how.uses_tensor_cores();
      if (loads(bound_, id)) {
        const bool shared = tensor && in_shared_memory(bound_, id);
        line(depth, fmt::format("load {} tile", name),
             fmt::format("l2 -> {}, {}, {}", shared ? "smem" : "registers", tile(id),
                         shared ? copy_feature(bound_.hardware, bound_.how) : "vector load"));
        loaded = true;
      }
      if (!stores(bound_, id)) return;
      const Stored how = schedule_.how_stored(bound_.island, id);
      if (how.by != Accumulate::rewriting)
        line(depth, fmt::format("start {} tile", diagram_.array(how.result).name), "registers");
      else if (comes_back(id))
        line(depth, fmt::format("load {} tile{}", name, how.zeroed ? "" : ", but zero on the first visit"),
             fmt::format("l2 -> registers, {}, vector load", tile(id)));
      else line(depth, fmt::format("start {} tile", name), "registers");
    });
    return loaded;
  }

  void move_out(int position, int depth) {
    moved_by(position, [&](ArrayId id, const std::string& name) {
      if (!stores(bound_, id)) return;
      const Stored how = schedule_.how_stored(bound_.island, id);
      const std::string& result = diagram_.array(how.result).name;
      const bool staged = passes_through_smem(bound_, id) ||
                          (bound_.how.output_through_smem && static_cast<int>(id) == output_array(bound_));
      const std::string path = staged ? "registers -> smem -> l2" : "registers -> l2";
      if (how.by == Accumulate::atomic)
        line(depth, fmt::format("{} += {} tile", name, result),
             fmt::format("{}, {}, atomic addition (counted as a read and a write)", path, tile(id)));
      else if (how.by == Accumulate::reduction)
        line(depth, fmt::format("{} += {} tile", name, result),
             fmt::format("{}, {}, reduction (red.add)", path, tile(id)));
      else
        line(depth, fmt::format("store {} tile", name),
             fmt::format("{}, {}, {}", path, tile(id), comes_back(id) ? "again at every visit" : "vector store"));
    });
  }

  static std::string names(const Diagram& diagram, const std::vector<ArrayId>& ids) {
    std::vector<std::string> list;
    for (const ArrayId id : ids) list.push_back(diagram.array(id).name);
    return join(list, ", ");
  }

  // Iteration points of one step of the whole nest.
  std::int64_t step_points(const Operator& op) const {
    std::int64_t points = 1;
    for (const AxisId axis : diagram_.axes_of(op)) {
      std::int64_t extent = bound_.nest.size(axis);
      for (const BoundLoop& l : bound_.nest.all())
        if (l.axis == axis) extent = l.tile;
      points = checked_mul(points, extent);
    }
    return points;
  }

  void work(const Operator& op, int depth) {
    const std::string in = names(diagram_, op.inputs), out = names(diagram_, op.outputs),
                      points = with_thousands(step_points(op));
    switch (op.kind) {
      case OperatorKind::contraction:
        return line(depth, fmt::format("{} <- contract {}", out, in),
                    fmt::format("{} FLOP, {}", with_thousands(checked_mul(2, step_points(op))), matrix_feature(op)));
      case OperatorKind::softmax: {
        const BoundLoop* along = bound_.nest.loop_over(*op.along);
        const bool streamed = along && !along->group && along->trips > 1;
        return line(depth, fmt::format("{} <- {}softmax of {}", out, streamed ? "running " : "", in),
                    fmt::format("{} exponentials (ex2), row maximum and sum by warp shuffles{}", points,
                                !streamed                    ? ""
                                : bound_.island.merges_tiles ? "; tile and state are merged"
                                                             : "; the state is rescaled"));
      }
      case OperatorKind::pointwise:
        if (op.expression->kind() == Expression::Kind::array)
          return line(depth, fmt::format("{} <- convert {}", out, in), fmt::format("{} values, conversions", points));
        return line(depth, fmt::format("{} <- {}", out, to_text(*op.expression)),
                    fmt::format("{} values, FMA{}", points, calls_exp(*op.expression) ? " and ex2 pipes" : " pipe"));
      case OperatorKind::reduction:
        return line(depth, fmt::format("{} <- {} of {}", out, to_string(op.fold), to_text(*op.expression)),
                    fmt::format("{} values, FMA pipe and warp shuffles", points));
      case OperatorKind::merge:
        return line(depth, fmt::format("{} <- merge {}", out, in),
                    fmt::format("{} values, rescaled by their statistics", points));
    }
  }

  std::string matrix_feature(const Operator& op) const {
    if (!bound_.how.uses_tensor_cores()) return "FMA pipe";
    const MmaShape mma = product_of(bound_, static_cast<int>(&op - diagram_.operators.data())).mma;
    const std::int64_t each = 2 * mma.m * mma.n * mma.k, all = checked_mul(2, step_points(op));
    return fmt::format("{} {} m{}n{}k{}", with_thousands(ceil_div(all, each)), bound_.how.path().title, mma.m, mma.n,
                       mma.k);
  }

  const BoundIsland& bound_;
  const Schedule& schedule_;
  const Diagram& diagram_;
  std::string text_;
};

}  // namespace

std::string pseudocode(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  std::string text;
  for (int i = 0; i < static_cast<int>(plan.schedule.islands.size()); ++i)
    text += Writer(bind_island(plan, hardware, point, i)).run();
  return text;
}

}  // namespace tilescope
