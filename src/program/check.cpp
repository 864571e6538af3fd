#include "program/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/contains.h"

namespace tilescope {
namespace {

constexpr double value_tolerance = 1e-9;

Mask small_mask(const Mask& mask, std::int64_t queries, std::int64_t keys, std::mt19937_64& random) {
  Mask small = mask;
  if (mask.row().argument == MaskArgument::count) small.count = 1 + static_cast<std::int64_t>(random() % 3);
  if (mask.kind != MaskKind::blocks) return small;
  Mask::Blocks blocks{.block_q = 2, .block_kv = 2, .live = {}};
  for (std::int64_t row = 0; row < ceil_div(queries, 2); ++row) {
    blocks.live.emplace_back();
    for (std::int64_t key = 0; key < ceil_div(keys, 2); ++key) blocks.live.back().push_back(random() % 2 == 0);
  }
  small.blocks = std::make_shared<const Mask::Blocks>(std::move(blocks));
  return small;
}

Coordinates sizes_of_axes(const Diagram& diagram) {
  Coordinates sizes{};
  for (std::size_t i = 0; i < diagram.axes.size(); ++i) sizes[i] = diagram.axes[i].length;
  return sizes;
}

class CaseRun {
 public:
  CaseRun(const Diagram& diagram, const SmallCase& small) : small_(small), diagram_(resized(diagram, small)) {}

  CaseResult run(const std::vector<KernelProgram>& kernels, bool alone) {
    std::mt19937_64 random(small_.seed);
    const Coordinates sizes = sizes_of_axes(diagram_);
    const Memory inputs = random_inputs(diagram_, sizes, random);
    Memory wanted = inputs;
    evaluate_directly(diagram_, sizes, small_.mask, wanted);
    Memory memory = alone ? wanted : inputs;
    for (const KernelProgram& kernel : kernels)
      for (const ProgramTile& tile : kernel.program.tiles)
        if (tile.memory && !inputs.contains(kernel.schedule.diagram.array(*tile.memory).name) &&
            kernel.schedule.writes(kernel.runs(), *tile.memory))
          memory.erase(kernel.schedule.diagram.array(*tile.memory).name);
    for (const KernelProgram& kernel : kernels) {
      Schedule schedule = kernel.schedule;
      schedule.diagram = resized(schedule.diagram, small_);
      result_.tiles.push_back(small_tiles(schedule, small_));
      const Nest nest = bind_nest(schedule, kernel.runs(), Workload{}, small_.mask, result_.tiles.back());
      result_.kernels.push_back(interpret(kernel.program, schedule, nest, memory));
    }
    if (!alone) follow_state(kernels, sizes, memory);
    for (const KernelProgram& kernel : kernels)
      for (const ArrayId id : kernel.runs().omits) omitted_.insert(kernel.schedule.diagram.array(id).name);
    for (const Array& array : diagram_.arrays)
      if (array.role != ArrayRole::input && result_.failure.empty()) compare(array, sizes, wanted, memory, alone);
    return std::move(result_);
  }

 private:
  // A schedule that keeps running state in memory leaves the state in place of what follows from it alone.
  void follow_state(const std::vector<KernelProgram>& kernels, const Coordinates& sizes, Memory& memory) const {
    for (const KernelProgram& kernel : kernels) {
      const Island& island = kernel.runs();
      const Primitives primitives = expand(kernel.schedule.diagram);
      for (const ArrayId id : island.omits) {
        const int producer = primitives.producer(id);
        if (producer < 0 || memory.contains(primitives.array(id).name)) continue;
        const Primitive& made = primitives.list[static_cast<std::size_t>(producer)];
        const auto stored = [&](ArrayId input) { return memory.contains(primitives.array(input).name); };
        if (made.fold || !std::all_of(made.inputs.begin(), made.inputs.end(), stored)) continue;
        const NumericExpression value(made.body, primitives.diagram, sizes, [&](const std::string& name) {
          return NumericExpression::Source{&memory.at(name)};
        });
        Values values(primitives.array(id).axes, sizes, std::nan(""));
        Coordinates point{};
        const Box box{.first = {}, .end = sizes};
        for_each_point(values.axes, box, point, [&] { values.at(point) = value.at(point); });
        memory.emplace(primitives.array(id).name, std::move(values));
      }
    }
  }

  // Positions that no step visits, because the mask leaves nothing to them, keep what memory held (ProgramTile::empty).
  // That is NaN where it depends on inputs. Where the diagram yields no number, a program may leave anything.
  void compare(const Array& array, const Coordinates& sizes, const Memory& wanted, const Memory& found, bool alone) {
    const auto left = found.find(array.name);
    if (left == found.end()) {
      if (array.role == ArrayRole::output && !alone && !omitted_.contains(array.name))
        result_.failure = array.name + " is not stored";
      return;
    }
    const Values& right = wanted.at(array.name);
    double largest = 1e-3;
    for (const double value : right.all)
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    Coordinates point{};
    const Box box{.first = {}, .end = sizes};
    for_each_point(array.axes, box, point, [&] {
      if (!result_.failure.empty() || !seen(diagram_, array.axes, sizes, small_.mask, point)) return;
      const double want = right.at(point), have = left->second.at(point);
      if (std::isnan(want) || (std::isnan(have) && unvisited(array, sizes, point))) return;
      if (std::isfinite(want) ? std::abs(have - want) <= value_tolerance * largest : have == want) return;
      result_.failure = fmt::format("{} is {} where the diagram says {}", array.name, have, want);
    });
  }

  // Under a mask, rows without a key and keys without a row.
  bool unvisited(const Array& array, const Coordinates& sizes, const Coordinates& point) const {
    if (!small_.mask.masks() || !diagram_.guard) return false;
    const AxisId query = diagram_.guard->query, key = diagram_.guard->key;
    Coordinates at = point;
    const Box box{.first = {}, .end = sizes};
    std::vector<AxisId> free;
    if (!array.has(query)) free.push_back(query);
    if (!array.has(key)) free.push_back(key);
    bool any = false;
    for_each_point(free, box, at, [&] { any = any || seen(diagram_, {query, key}, sizes, small_.mask, at); });
    return !any;
  }

  const SmallCase& small_;
  Diagram diagram_;
  CaseResult result_;
  std::set<std::string> omitted_;
};

}  // namespace

std::variant<std::vector<KernelProgram>, NoProgram> programs_of(const std::vector<Schedule>& schedules) {
  std::vector<KernelProgram> programs;
  for (const Schedule& schedule : schedules)
    for (int island = 0; island < static_cast<int>(schedule.islands.size()); ++island) {
      auto built = build_program(schedule, expand(schedule.diagram), island);
      const std::string name =
          schedule.islands.size() > 1 ? schedule.islands[static_cast<std::size_t>(island)].name : schedule.name;
      if (const auto* none = std::get_if<NoProgram>(&built))
        return NoProgram{fmt::format("{} has no program: {}", name, none->reason)};
      programs.push_back({schedule, island, std::get<TileProgram>(std::move(built))});
    }
  return programs;
}

SmallCase small_case(const Diagram& diagram, const Mask& mask, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  SmallCase small{.seed = seed};
  std::map<std::string, std::int64_t> sizes;
  const bool many = diagram.axes.size() > 5;
  for (const Axis& axis : diagram.axes) {
    const bool guarded = diagram.guard && (diagram.axes[index(diagram.guard->query)].name == axis.name ||
                                           diagram.axes[index(diagram.guard->key)].name == axis.name);
    const std::int64_t least = guarded ? 4 : 2, range = guarded ? 3 : many ? 2 : 4;
    sizes.try_emplace(axis.size, least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(range)));
  }
  constexpr double most_points = 30000;
  const auto points = [&] {
    double count = 1;
    for (const Axis& axis : diagram.axes) count *= static_cast<double>(sizes[axis.size]);
    return count;
  };
  const auto shorter = [](const auto& a, const auto& b) { return a.second < b.second; };
  while (points() > most_points) --std::max_element(sizes.begin(), sizes.end(), shorter)->second;
  if (diagram.guard && seed % 2 == 0) {  // every query sees a key; else some may see none
    const std::int64_t& query = sizes[diagram.axes[index(diagram.guard->query)].size];
    std::int64_t& key = sizes[diagram.axes[index(diagram.guard->key)].size];
    key = std::max(key, query);
  }
  for (const Array& array : diagram.arrays)  // a view is at most as long as its source
    if (array.alias_of) {
      const Axis &own = diagram.axes[index(array.axes.back())],
                 &source = diagram.axes[index(diagram.array(*array.alias_of).axes.back())];
      sizes[own.size] = std::min(sizes[own.size], sizes[source.size]);
    }
  small.sizes.assign(sizes.begin(), sizes.end());
  if (diagram.guard)
    small.mask = small_mask(mask, sizes[diagram.axes[index(diagram.guard->query)].size],
                            sizes[diagram.axes[index(diagram.guard->key)].size], random);
  return small;
}

Diagram resized(Diagram diagram, const SmallCase& small) {
  for (Axis& axis : diagram.axes)
    for (const auto& [name, size] : small.sizes)
      if (axis.size == name) axis.extent.reset(), axis.length = size;
  return diagram;
}

std::vector<std::int64_t> small_tiles(const Schedule& schedule, const SmallCase& small) {
  std::mt19937_64 random(small.seed + 1);
  std::vector<std::int64_t> tiles;
  for (int p = 0; p < static_cast<int>(schedule.parameters.size()); ++p) {
    std::int64_t size = 2;
    for (const Island& island : schedule.islands)
      for (const Loop& loop : island.loops)
        if (loop.tile.parameter == p) size = schedule.diagram.axes[index(loop.axis)].length;
    for (const Chunking& cut : schedule.chunks)
      if (cut.length.parameter == p) size = schedule.diagram.axes[index(cut.of)].length;
    tiles.push_back(
        1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(std::max<std::int64_t>(size, 2) - 1)));
  }
  return tiles;
}

CaseResult run_case(const Diagram& diagram, const std::vector<KernelProgram>& kernels, const SmallCase& small,
                    bool alone) {
  return CaseRun(diagram, small).run(kernels, alone);
}

}  // namespace tilescope
