#include "derive/nests/named.h"

#include <algorithm>

#include "base/contains.h"

namespace tilescope {
namespace {

bool runs_operators(const Island& island, std::size_t source_operators) {
  return std::all_of(island.operators.begin(), island.operators.end(),
                     [&](int op) { return op < static_cast<int>(source_operators); });
}

// Arrays of the source diagram that the island computes, also if the schedule stores them under another name. Running
// state is no result.
std::vector<ArrayId> results_of(const Primitives& primitives, const Schedule& schedule, const Island& island) {
  std::vector<ArrayId> results;
  for (std::size_t a = 0; a < schedule.diagram.arrays.size(); ++a) {
    const auto stored = static_cast<ArrayId>(static_cast<int>(a));
    if (!schedule.writes(island, stored)) continue;
    const auto id =
        primitives.diagram.find_array(schedule.diagram.array(schedule.how_stored(island, stored).result).name);
    const bool state = id && primitives.array(*id).role == ArrayRole::interior &&
                       std::none_of(schedule.islands.begin(), schedule.islands.end(),
                                    [&](const Island& other) { return schedule.reads(other, stored); });
    if (id && !state) results.push_back(*id);
  }
  std::sort(results.begin(), results.end());
  return results;
}

AxisLoops loops_of(const Schedule& schedule, const Island& island) {
  AxisLoops loops;
  for (const Loop& loop : island.loops) {
    const auto& of = schedule.diagram.axes[index(loop.axis)].chunks_of;
    loops.push_back({of.value_or(loop.axis), loop.partition, of.has_value()});
  }
  const auto group = [](const AxisLoop& loop) { return loop.partition == Partition::group; };
  std::sort(loops.begin(), std::stable_partition(loops.begin(), loops.end(), group));
  return loops;
}

}  // namespace

NamedPoint locate(const Primitives& primitives, const Schedule& schedule) {
  NamedPoint point;
  const std::size_t source_operators = schedule.source.operators.size();  // rewrites append operators behind them
  std::vector<ArrayId> stored;
  for (const Island& island : schedule.islands) {
    if (!runs_operators(island, source_operators)) continue;
    const std::vector<ArrayId> results = results_of(primitives, schedule, island);
    std::vector<ArrayId> available;
    for (std::size_t a = 0; a < schedule.diagram.arrays.size(); ++a)
      if (schedule.reads(island, static_cast<ArrayId>(static_cast<int>(a))))
        if (const auto id = primitives.diagram.find_array(schedule.diagram.arrays[a].name)) available.push_back(*id);
    point.kernels.push_back({island.name, kernel_for(primitives, results, available), loops_of(schedule, island)});
    stored.insert(stored.end(), results.begin(), results.end());
  }
  for (std::size_t a = 0; a < primitives.diagram.arrays.size(); ++a) {
    const auto id = static_cast<ArrayId>(static_cast<int>(a));
    if (primitives.array(id).role == ArrayRole::output && !contains(stored, id)) point.omitted.push_back(id);
  }
  return point;
}

std::string broken_rule(const Primitives& primitives, const NamedPoint& point) {
  for (const NamedKernel& kernel : point.kernels)
    if (const std::string why = KernelRules(primitives, kernel.kernel).why_not(kernel.loops); !why.empty())
      return kernel.island + ": " + why;
  return {};
}

int find_fusion(const Fusions& fusions, const NamedPoint& point) {
  for (std::size_t f = 0; f < fusions.fusions.size(); ++f) {
    const Fusion& fusion = fusions.fusions[f];
    const auto has = [&](const NamedKernel& named) {
      return std::any_of(fusion.kernels.begin(), fusion.kernels.end(),
                         [&](int k) { return fusions.kernels[static_cast<std::size_t>(k)] == named.kernel; });
    };
    if (fusion.kernels.size() == point.kernels.size() && std::all_of(point.kernels.begin(), point.kernels.end(), has))
      return static_cast<int>(f);
  }
  return -1;
}

}  // namespace tilescope
