#include "predict/explain/pseudocode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "base/contains.h"
#include "base/text.h"
#include "predict/point/footprint.h"
#include "predict/point/products.h"
#include "program/check.h"
#include "program/print.h"

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

// The program of one kernel, with what moves and computes in it on this GPU.
class Writer {
 public:
  Writer(const BoundIsland& bound, const KernelProgram& kernel)
      : bound_(bound), kernel_(kernel), diagram_(kernel.schedule.diagram) {}

  std::string run() {
    text_ = fmt::format("kernel {}: {} blocks of {} warps\n", bound_.island.name, with_thousands(bound_.nest.blocks()),
                        bound_.point.warps);
    if (bound_.how.uses_tensor_cores()) {
      allocate("smem", smem_of_block(bound_));
      allocate("registers", registers_of_block(bound_));
    }
    return text_ + to_text(kernel_.program, kernel_.schedule,
                           {.masked = bound_.point.mask.masks(),
                            .depth = 1,
                            .loop = [&](int position) { return loop_text(position); },
                            .note = [&](const Statement& statement) { return note(statement); }});
  }

 private:
  using Kind = Statement::Kind;

  const ProgramTile& tile_of(const Statement& statement) const {
    return kernel_.program.tiles[static_cast<std::size_t>(statement.tile)];
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
      text_ += fmt::format("  allocate {}: {} bytes: {}\n", where, with_thousands(kept.bytes), join(parts, ", "));
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

  std::string bytes(ArrayId id) const { return with_thousands(tile_bytes(bound_, id)) + " bytes"; }

  std::string note(const Statement& statement) const {
    switch (statement.kind) {
      case Kind::loop:
      case Kind::start:
        return {};
      case Kind::initialise:
        return "before the launch";
      case Kind::load:
        return load_note(*tile_of(statement).memory);
      case Kind::resume:
        return fmt::format("l2 -> registers, {}, vector load", bytes(*tile_of(statement).memory));
      case Kind::store:
        return fmt::format("{}, {}, vector store", path_out(tile_of(statement)), bytes(*tile_of(statement).memory));
      case Kind::add:
        return fmt::format("{}, {}, {}", path_out(tile_of(statement)), bytes(*tile_of(statement).memory),
                           statement.by == Accumulate::atomic ? "atomic addition (counted as a read and a write)"
                                                              : "reduction (red.add)");
      case Kind::compute:
      case Kind::fold:
      case Kind::finalise:
        return work_note(statement);
    }
    return {};
  }

  std::string load_note(ArrayId id) const {
    const bool shared = bound_.how.uses_tensor_cores() && in_shared_memory(bound_, id);
    const std::string ahead = shared && bound_.how.stages > 1 && bound_.streams(id)
                                  ? fmt::format(", {} steps ahead", bound_.how.stages - 1)
                                  : "";
    return fmt::format("l2 -> {}, {}, {}{}", shared ? "smem" : "registers", bytes(id),
                       shared ? copy_feature(bound_.hardware, bound_.how) : "vector load", ahead);
  }

  std::string path_out(const ProgramTile& tile) const {
    const bool staged = passes_through_smem(bound_, *tile.memory) ||
                        (bound_.how.output_through_smem && static_cast<int>(*tile.memory) == output_array(bound_));
    return staged ? "registers -> smem -> l2" : "registers -> l2";
  }

  // Points of one step along these axes.
  std::int64_t points(const std::vector<AxisId>& axes) const {
    std::int64_t count = 1;
    for (const AxisId axis : axes) {
      std::int64_t extent = bound_.nest.size(axis);
      for (const BoundLoop& l : bound_.nest.all())
        if (l.axis == axis) extent = l.tile;
      count = checked_mul(count, extent);
    }
    return count;
  }

  // The contraction that the statement computes, -1: another one.
  int contraction(const Statement& statement) const {
    std::string name = tile_of(statement).name;
    if (!statement.fold || statement.over.empty()) return -1;
    if (name.ends_with(tile_suffix)) name.resize(name.size() - tile_suffix.size());
    for (const int op : bound_.island.operators)
      if (const Operator& one = diagram_.operators[static_cast<std::size_t>(op)];
          one.kind == OperatorKind::contraction && diagram_.array(one.outputs.front()).name == name)
        return op;
    return -1;
  }

  std::string work_note(const Statement& statement) const {
    const ProgramTile& tile = tile_of(statement);
    std::vector<AxisId> axes = tile.axes;
    for (const AxisId axis : statement.over)
      if (!contains(axes, axis)) axes.push_back(axis);
    if (const int op = contraction(statement); op >= 0) {
      const std::int64_t flop = checked_mul(2, points(axes));
      return fmt::format("{} FLOP, {}", with_thousands(flop), matrix_feature(op, flop));
    }
    const std::string values = with_thousands(points(axes));
    if (calls_exp(statement.value)) return fmt::format("{} exponentials (ex2)", values);
    if (statement.value.kind() == Expression::Kind::array && !statement.fold)
      return fmt::format("{} values, conversions", values);
    const bool adds = statement.fold == FoldKind::sum || statement.fold == FoldKind::product;
    return fmt::format("{} values, {}", values,
                       statement.over.empty() ? "FMA pipe"
                       : adds                 ? "FMA pipe and warp shuffles"
                                              : "warp shuffles");
  }

  std::string matrix_feature(int op, std::int64_t flop) const {
    if (!bound_.how.uses_tensor_cores()) return "FMA pipe";
    const MmaShape mma = product_of(bound_, op).mma;
    const std::int64_t each = 2 * mma.m * mma.n * mma.k;
    return fmt::format("{} {} m{}n{}k{}", with_thousands(ceil_div(flop, each)),
                       bound_.tensor_memory.used ? "tcgen05.mma" : bound_.how.path().title, mma.m, mma.n, mma.k);
  }

  const BoundIsland& bound_;
  const KernelProgram& kernel_;
  const Diagram& diagram_;
  std::string text_;
};

// The plan's schedule without the statistics that its kernel does not store.
Schedule stored_by(const Plan& plan, const std::vector<BoundIsland>& bound) {
  Schedule schedule = plan.schedule;
  for (const BoundIsland& island : bound)
    for (std::size_t a = 0; a < schedule.diagram.arrays.size(); ++a)
      if (const auto id = static_cast<ArrayId>(static_cast<int>(a));
          plan.schedule.writes(island.island, id) && !stores(island, id))
        schedule.islands[static_cast<std::size_t>(island.number)].omits.push_back(id);
  return schedule;
}

// Programs that ran: on small ragged sizes under the point's mask they yield what the diagram says.
std::vector<KernelProgram> programs_that_ran(const Schedule& schedule, const Mask& mask) {
  auto built = programs_of({schedule});
  if (const auto* none = std::get_if<NoProgram>(&built)) throw std::logic_error(none->reason);
  auto kernels = std::get<std::vector<KernelProgram>>(std::move(built));
  for (const std::uint64_t seed : {17U, 18U})
    if (const CaseResult result = run_case(schedule.source, kernels, small_case(schedule.source, mask, seed));
        !result.failure.empty())
      throw std::logic_error(fmt::format("the program of schedule {} is wrong: {}", schedule.name, result.failure));
  return kernels;
}

}  // namespace

std::string pseudocode(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  std::vector<BoundIsland> bound;
  for (int i = 0; i < static_cast<int>(plan.schedule.islands.size()); ++i)
    bound.push_back(bind_island(plan, hardware, point, i));
  std::string text;
  for (const KernelProgram& kernel : programs_that_ran(stored_by(plan, bound), point.mask))
    text += Writer(bound[static_cast<std::size_t>(kernel.island)], kernel).run();
  return text;
}

}  // namespace tilescope
