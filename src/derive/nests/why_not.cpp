#include "derive/nests/why_not.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/contains.h"

namespace tilescope {
namespace {

// The kernel's loops with the axis partitioned as requested. A group joins the grid. A stream keeps the position of the
// axis' stream if there was one, else it becomes the innermost loop.
AxisLoops with_axis(AxisLoops loops, AxisId axis, Asked asked) {
  const auto of_axis = [&](const AxisLoop& loop) { return loop.axis == axis; };
  const auto streamed = std::find_if(loops.begin(), loops.end(), [&](const AxisLoop& loop) {
    return of_axis(loop) && loop.partition == Partition::stream;
  });
  if (asked == Asked::stream && streamed != loops.end()) {
    std::erase_if(loops, [&](const AxisLoop& loop) { return of_axis(loop) && loop.partition == Partition::group; });
    return loops;
  }
  const bool keep_stream = asked == Asked::parts;
  std::erase_if(loops, [&](const AxisLoop& loop) {
    return of_axis(loop) && !(keep_stream && loop.partition == Partition::stream);
  });
  if (asked == Asked::stream) loops.push_back({axis, Partition::stream});
  if (asked == Asked::group || asked == Asked::parts)
    loops.insert(loops.begin(), {axis, Partition::group, asked == Asked::parts});
  const auto group = [](const AxisLoop& loop) { return loop.partition == Partition::group; };
  std::sort(loops.begin(), std::find_if_not(loops.begin(), loops.end(), group));
  return loops;
}

std::string meaning(const Primitives& primitives, const KernelRules& rules, AxisId axis, Asked asked,
                    const AxisLoops& loops, const AxisLoops& before) {
  const std::string name = primitives.diagram.axes[index(axis)].name;
  const Streamability& stream = rules.axes().at(axis);
  if (asked == Asked::whole) return name + " stays whole: this needs a larger footprint and repeats no transfer";
  if (stream.kind == Streamability::Kind::woven) return name + " is not folded here: its tiles are independent";
  const NestCost cost = rules.cost(loops);
  if (asked == Asked::parts)
    return fmt::format("every part of {} leaves partial results, which a second kernel merges", name);
  if (asked == Asked::group)
    return fmt::format("the results over {} are plain sums: blocks add to them in memory", name);
  return fmt::format(
      "{} is folded as a {}{}", name, to_string(stream.witness->kind),
      cost.state.size() <= rules.cost(before).state.size() ? "" : "; its running state goes through memory");
}

}  // namespace

std::vector<WhyNot> why_not(const Schedule& schedule, AxisId axis, Asked asked) {
  const Primitives primitives = expand(primitive_diagram(expand(schedule.source)));
  std::vector<WhyNot> answers;
  for (const NamedKernel& kernel : locate(primitives, schedule).kernels) {
    const KernelRules rules(primitives, kernel.kernel);
    const auto known = rules.axes().find(axis);
    if (known == rules.axes().end() || known->second.kind == Streamability::Kind::absent) continue;
    const AxisLoops loops = with_axis(kernel.loops, axis, asked);
    const std::string reason = rules.why_not(loops);
    WhyNot answer{.kernel = kernel.island,
                  .allowed = reason.empty(),
                  .loops = to_text(primitives.diagram, loops),
                  .reason = reason};
    if (answer.allowed) answer.reason = meaning(primitives, rules, axis, asked, loops, kernel.loops);
    else if (asked == Asked::group && rules.splits(axis))
      answer.reason += fmt::format(" (ask for {}:parts)", primitives.diagram.axes[index(axis)].name);
    answers.push_back(std::move(answer));
  }
  return answers;
}

std::string illegal(const Schedule& schedule) {
  const Primitives primitives = expand(primitive_diagram(expand(schedule.source)));
  const NamedPoint point = locate(primitives, schedule);
  if (std::string broken = broken_rule(primitives, point); !broken.empty()) return broken;
  for (const NamedKernel& kernel : point.kernels) {
    const Island& island = schedule.islands[static_cast<std::size_t>(schedule.find_island(kernel.island))];
    if (island.unread.empty()) continue;
    const std::vector<ArrayId> cancel = KernelRules(primitives, kernel.kernel).unread(kernel.loops);
    for (const ArrayId id : island.unread) {
      const std::string& name = schedule.diagram.array(id).name;
      if (const auto own = primitives.diagram.find_array(name); !own || !contains(cancel, *own))
        return fmt::format("{}: {} does not cancel out of its results, so it is not 'unread'", kernel.island, name);
    }
  }
  return {};
}

std::optional<AxisId> axis_by_name(const Schedule& schedule, const std::string& name) {
  if (const auto axis = schedule.source.find_axis(name)) return axis;
  const int parameter = schedule.find_parameter(name);
  for (const Island& island : schedule.islands)
    for (const Loop& loop : island.loops)
      if (parameter >= 0 && loop.tile.parameter == parameter)
        return schedule.diagram.axes[index(loop.axis)].chunks_of.value_or(loop.axis);
  return std::nullopt;
}

}  // namespace tilescope
