#include "derive/saved/saved_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "diagram/diagram_yaml.h"
#include "schedule/folds.h"
#include "schedule/schedule_text.h"

namespace tilescope {
namespace {

// A tile that a kernel without products starts from: nothing searches for it.
constexpr std::int64_t plain_tile = 128;

bool has_products(const RankedKernel& kernel, const Diagram& diagram) {
  return std::any_of(kernel.kernel.region.primitives.begin(), kernel.kernel.region.primitives.end(),
                     [&](int primitive) {
                       return diagram.operators[static_cast<std::size_t>(primitive)].kind == OperatorKind::contraction;
                     });
}

// The tile that the derivation found for a parameter of the kernel's schedule, rounded down; 0: it found none.
std::int64_t derived_tile(const RankedKernel& kernel, int parameter) {
  const std::vector<SymbolId>& inputs = kernel.problem.symbolic.symbols.inputs();
  for (std::size_t i = 0; i < kernel.problem.tiles.size() && i < kernel.best.tiles.size(); ++i) {
    const auto at = std::find(inputs.begin(), inputs.end(), kernel.problem.tiles[i]) - inputs.begin();
    if (kernel.problem.symbolic.inputs[static_cast<std::size_t>(at)].tile.parameter == parameter)
      return std::max<std::int64_t>(1, static_cast<std::int64_t>(kernel.best.tiles[i] * (1 + 1e-6)));
  }
  return 0;
}

std::string names_of(const Derivation& derivation, const std::vector<ArrayId>& ids, std::string_view separator) {
  std::vector<std::string> names;
  for (const ArrayId id : ids) names.push_back(derivation.primitives.array(id).name);
  return join(names, separator);
}

std::string kernel_text(const Derivation& derivation, const RankedKernel& kernel) {
  return names_of(derivation, kernel.kernel.region.results, ", ") + " " +
         to_text(derivation.primitives.diagram, kernel.loops);
}

class Writer {
 public:
  Writer(const Derivation& derivation, const RankedFusion& fusion, bool own_operators)
      : derivation_(derivation),
        fusion_(fusion),
        own_(own_operators),
        diagram_(own_operators ? derivation.request.diagram : derivation.primitives.diagram) {}

  std::string run(const std::string& name) {
    std::string islands;
    for (const RankedKernel& kernel : fusion_.kernels) islands += island(kernel);
    std::string text = "schema: tilescope/schedule/1\nschedule: " + yaml_scalar(name) + "\n";
    text += fmt::format("summary: {}\n", yaml_scalar(summary()));
    text += "diagram:\n" + diagram_yaml(diagram_, "  ");
    text += "parameters: {" + join(parameters_, ", ") + "}\n\nislands:\n" + islands;
    return text;
  }

 private:
  const Array& array(ArrayId id) const { return derivation_.primitives.array(id); }

  std::string summary() const {
    std::vector<std::string> kernels;
    for (const RankedKernel& kernel : fusion_.kernels) kernels.push_back(kernel_text(derivation_, kernel));
    return "derived: " + join(kernels, "; then ");
  }

  std::string island_name(const RankedKernel& kernel) {
    std::string name = names_of(derivation_, kernel.kernel.region.results, "_");
    while (!names_.insert(name).second) name += "_again";
    return name;
  }

  // Operators of diagram_ that the kernel's primitives belong to.
  std::vector<int> operators_of(const RankedKernel& kernel) const {
    std::set<int> found;
    const Primitives own = own_ ? expand(diagram_) : Primitives{};
    for (const int number : kernel.kernel.region.primitives)
      found.insert(own_ ? own.list[static_cast<std::size_t>(number)].op : number);
    return {found.begin(), found.end()};
  }

  // What the operators yield but the kernel does not store: outputs, and arrays that another kernel loads.
  std::vector<std::string> omitted(const RankedKernel& kernel, const std::vector<int>& operators) const {
    std::vector<std::string> omits;
    for (const int op : operators)
      for (const ArrayId id : diagram_.operators[static_cast<std::size_t>(op)].outputs) {
        const auto loaded = [&](const RankedKernel& other) { return contains(other.kernel.loads, id); };
        const bool wanted = contains(kernel.kernel.region.results, id);
        if (!wanted && (diagram_.array(id).role == ArrayRole::output ||
                        std::any_of(fusion_.kernels.begin(), fusion_.kernels.end(), loaded)))
          omits.push_back(yaml_scalar(diagram_.array(id).name));
      }
    return omits;
  }

  // Results that several blocks add to: a group, not one of parts, is over an axis that they fold over.
  std::string shared_sums(const RankedKernel& kernel) const {
    Island whole;
    whole.operators = kernel.kernel.region.primitives;
    std::vector<std::string> sums;
    for (const ArrayId id : kernel.kernel.region.results) {
      const std::vector<AxisId> folded = folded_axes(derivation_.primitives, whole, id);
      const auto shares = [&](const AxisLoop& loop) {
        return loop.partition == Partition::group && !loop.parts && contains(folded, loop.axis);
      };
      if (std::any_of(kernel.loops.begin(), kernel.loops.end(), shares))
        sums.push_back(yaml_scalar(array(id).name) + ": {by: rewriting, zeroed: false}");
    }
    return join(sums, ", ");
  }

  // Of an axis that every array has: the derivation takes tiles of one, which repeat nothing. A kernel without products
  // takes so many along its last one that a block has a thousand elements of its largest array, which moves no more.
  std::int64_t batch_tile(const RankedKernel& kernel, const AxisLoop& of) const {
    constexpr std::int64_t wanted = 1024;
    const Workload& workload = derivation_.request.workload;
    if (has_products(kernel, derivation_.primitives.diagram)) return 1;
    const auto batch = [&](const AxisLoop& loop) {
      const auto at = static_cast<std::size_t>(&loop - kernel.loops.data());
      return kernel.schedule.islands.front().loops[at].tile.parameter < 0 && loop.partition == Partition::group;
    };
    AxisId last{};
    for (const AxisLoop& loop : kernel.loops)
      if (batch(loop)) last = loop.axis;
    if (of.axis != last) return 1;
    std::vector<ArrayId> moved = kernel.kernel.loads;
    moved.insert(moved.end(), kernel.kernel.region.results.begin(), kernel.kernel.region.results.end());
    std::int64_t elements = 1;  // of a block
    for (const ArrayId id : moved) {
      std::int64_t own = 1;
      for (const AxisId axis : array(id).axes) {
        const auto over = [&](const AxisLoop& loop) { return loop.axis == axis; };
        const auto loop = std::find_if(kernel.loops.begin(), kernel.loops.end(), over);
        const std::int64_t size = diagram_.axes[index(axis)].size_in(workload);
        own = checked_mul(own, loop == kernel.loops.end() ? size : batch(*loop) ? 1 : std::min(size, plain_tile));
      }
      elements = std::max(elements, own);
    }
    return std::min(diagram_.axes[index(last)].size_in(workload), ceil_div(wanted, elements));
  }

  std::string tile_of(const RankedKernel& kernel, const Loop& loop, const AxisLoop& of) {
    if (loop.tile.parameter < 0) return std::to_string(batch_tile(kernel, of));
    const Axis& axis = diagram_.axes[index(of.axis)];
    std::int64_t tile = derived_tile(kernel, loop.tile.parameter);
    if (tile == 0 || !has_products(kernel, derivation_.primitives.diagram))
      tile = std::min(axis.size_in(derivation_.request.workload), tile == 0 ? plain_tile : std::min(tile, plain_tile));
    if (parameters_.size() == max_parameters) return std::to_string(tile);
    std::string name = axis.name;
    for (int copy = 2; !used_.insert(name).second; ++copy) name = fmt::format("{}_{}", axis.name, copy);
    parameters_.push_back(fmt::format("{}: {}", yaml_scalar(name), tile));
    return yaml_scalar(name);
  }

  std::string island(const RankedKernel& kernel) {
    const std::vector<int> operators = operators_of(kernel);
    std::vector<std::string> names, unread;
    for (const int op : operators) names.push_back(yaml_scalar(diagram_.operators[static_cast<std::size_t>(op)].name));
    const Island& own = kernel.schedule.islands.front();
    for (const ArrayId id : own.unread) unread.push_back(yaml_scalar(array(id).name));
    const std::vector<std::string> omits = omitted(kernel, operators);
    std::string text =
        fmt::format("  - name: {}\n    operators: [{}]\n", yaml_scalar(island_name(kernel)), join(names, ", "));
    if (!omits.empty()) text += "    omits: [" + join(omits, ", ") + "]\n";
    if (!unread.empty()) text += "    unread: [" + join(unread, ", ") + "]\n";
    if (const std::string sums = shared_sums(kernel); !sums.empty()) text += "    accumulates: {" + sums + "}\n";
    text += fmt::format("    skips_masked_tiles: {}\n    loops:", own.skips_masked_tiles);
    for (std::size_t l = 0; l < kernel.loops.size(); ++l)
      text += fmt::format("\n      - {{axis: {}, partition: {}, tile: {}}}",
                          yaml_scalar(diagram_.axes[index(kernel.loops[l].axis)].name),
                          kernel.loops[l].partition == Partition::group ? "group" : "stream",
                          tile_of(kernel, own.loops[l], kernel.loops[l]));
    return text + (kernel.loops.empty() ? " []\n" : "\n");
  }

  const Derivation& derivation_;
  const RankedFusion& fusion_;
  bool own_;
  const Diagram& diagram_;
  std::vector<std::string> parameters_{};
  std::set<std::string> names_{}, used_{};
};

// Why the schedule as it was read is not the ranked one; empty: it is.
std::string other_than(const Derivation& derivation, const RankedFusion& fusion, const Schedule& schedule) {
  const Primitives primitives = expand(primitive_diagram(expand(schedule.source)));
  const NamedPoint point = locate(primitives, schedule);
  if (point.kernels.size() != fusion.kernels.size()) return "it has another number of kernels";
  for (std::size_t k = 0; k < point.kernels.size(); ++k) {
    const RankedKernel& ranked = fusion.kernels[k];
    const std::string& name = point.kernels[k].island;
    // A result that follows from running state which is stored is not stored itself.
    std::vector<ArrayId> results = ranked.kernel.region.results;
    std::erase_if(results, [&](ArrayId id) { return contains(ranked.schedule.islands.front().omits, id); });
    const FusedKernel& read = point.kernels[k].kernel;
    if (!(read == kernel_for(primitives, results, ranked.kernel.loads)))
      return fmt::format("kernel {} makes {} of {}, not {} of {}", name,
                         names_of(derivation, read.region.results, ", "), names_of(derivation, read.loads, ", "),
                         names_of(derivation, results, ", "), names_of(derivation, ranked.kernel.loads, ", "));
    if (point.kernels[k].loops != ranked.loops) return "kernel " + name + " has other loops";
    if (schedule.islands[k].unread != ranked.schedule.islands.front().unread)
      return "kernel " + name + " loads other arrays";
  }
  return broken_rule(derivation.primitives, point);
}

}  // namespace

SavedSchedule saved_schedule(const Derivation& derivation, std::size_t rank, const std::string& name,
                             const std::filesystem::path& models_directory) {
  const RankedFusion& fusion = derivation.ranked.at(rank);
  std::string all;
  for (const bool own_operators : {true, false}) {
    SavedSchedule saved{.yaml = Writer(derivation, fusion, own_operators).run(name), .own_operators = own_operators};
    std::string why;
    try {
      why = other_than(derivation, fusion, parse_schedule(saved.yaml, models_directory));
    } catch (const InputError& error) {
      why = error.what();
    }
    all += (all.empty() ? "" : "; ") + why;
    if (!why.empty()) continue;
    for (const RankedKernel& kernel : fusion.kernels) {
      const double blocks = blocks_of(kernel.problem, kernel.schedule, derivation.request.workload, kernel.best);
      saved.kernels.push_back(fmt::format("{} in {:.0f} block{}", kernel_text(derivation, kernel), std::ceil(blocks),
                                          std::ceil(blocks) == 1 ? "" : "s"));
    }
    return saved;
  }
  throw InputError(Diagnostic{.path = "--save",
                              .message = fmt::format("schedule {} cannot be written as a file: {}", rank + 1, all)});
}

}  // namespace tilescope
