#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "base/contains.h"
#include "cost/nest.h"
#include "derive/nests/nests.h"
#include "schedule/folds.h"

namespace tilescope {
namespace {

constexpr AxisBits part_bit(AxisId axis) { return bit(axis) << max_axes; }
static_assert(2 * max_axes <= 32, "axes and their parts share one word");

AxisBits bits_of(const std::vector<AxisId>& axes) {
  AxisBits mask = 0;
  for (const AxisId axis : axes) mask |= bit(axis);
  return mask;
}

// The loops that repeat an array: loops over axes that it lacks, outside the innermost loop that moves it. A partial
// result also has the axis of the parts. A stream that the array awaits does not repeat it.
AxisBits repeated(AxisBits axes, AxisBits carried_parts, AxisBits awaited, const AxisLoops& loops) {
  const auto carries = [&](const AxisLoop& loop) {
    return (axes & bit(loop.axis)) != 0 || (loop.parts && (carried_parts & bit(loop.axis)) != 0);
  };
  AxisBits mask = 0;
  bool moved = false;
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    if (loop->partition == Partition::stream && (awaited & bit(loop->axis)) != 0) continue;
    moved = moved || loop->partition == Partition::group || carries(*loop);
    if (moved && !carries(*loop)) mask |= loop->parts ? part_bit(loop->axis) : bit(loop->axis);
  }
  return mask;
}

// Whether the nest revisits a tile of an array before the fold over the loop's axis is complete: blocks share the axis,
// or a loop inside the stream moves the tile.
bool comes_back(AxisBits axes, const AxisLoops& loops, std::size_t loop) {
  if (loops[loop].partition == Partition::group) return !loops[loop].parts;
  for (std::size_t i = loop + 1; i < loops.size(); ++i)
    if ((axes & bit(loops[i].axis)) != 0) return true;
  return false;
}

// Whether another fold of the region uses the value of `fold` and does not run over `axis`. Such a fold uses the value
// once, so it must be complete: a maximum or an exponential cannot use partial sums over `axis`.
bool another_fold_takes(const Primitives& primitives, const Region& region, ArrayId fold, AxisId axis) {
  std::set<ArrayId> follows{fold};
  for (const int number : region.primitives) {  // in an order in which they can run
    const Primitive& primitive = primitives.list[static_cast<std::size_t>(number)];
    const bool takes = std::any_of(primitive.inputs.begin(), primitive.inputs.end(),
                                   [&](ArrayId input) { return follows.contains(input); });
    if (!takes) continue;
    if (primitive.fold && !primitive.folds(axis)) return true;
    if (!primitive.fold) follows.insert(primitive.output);
  }
  return false;
}

bool depends_on(const Primitives& primitives, const Island& island, ArrayId id, ArrayId earlier) {
  const int producer = primitives.producer(id);
  if (id == earlier || producer < 0) return id == earlier;
  const Primitive& primitive = primitives.list[static_cast<std::size_t>(producer)];
  return contains(island.operators, primitive.op) &&
         std::any_of(primitive.inputs.begin(), primitive.inputs.end(),
                     [&](ArrayId input) { return depends_on(primitives, island, input, earlier); });
}

}  // namespace

KernelRules::KernelRules(const Primitives& primitives, const FusedKernel& kernel)
    : primitives_(&primitives), region_(kernel.region) {
  Island island;
  island.operators = kernel.region.primitives;
  std::set<AxisId> seen;
  for (const int number : kernel.region.primitives)
    for (const AxisId axis : primitives.axes_of(primitives.list[static_cast<std::size_t>(number)])) seen.insert(axis);
  batch_ = batch_axes(primitives, kernel);
  for (const ArrayId id : kernel.loads) {
    const auto& source = primitives.array(id).alias_of;
    if (!source || !contains(kernel.loads, *source))
      loads_.push_back({id, bits_of(primitives.array(id).axes), bits_of(awaited_axes(primitives, island, id)),
                        minor_over(primitives, kernel, id)});
  }
  for (const AxisId axis : seen) {
    axes_[axis] = streamability(primitives, kernel.region, axis);
    if (parts_merge(kernel, island, axis)) mergeable_ |= bit(axis);
  }
  for (const ArrayId id : kernel.region.results) {
    Result result{.id = id,
                  .axes = bits_of(primitives.array(id).axes),
                  .folded = bits_of(folded_axes(primitives, island, id)),
                  .awaited = bits_of(awaited_axes(primitives, island, id))};
    const Primitive& producer = primitives.list[static_cast<std::size_t>(primitives.producer(id))];
    for (const AxisId axis : seen) {
      if ((result.folded & bit(axis)) == 0) continue;
      result.state[axis] = state_of(primitives, island, id, axis);
      if (producer.folds(axis) && producer.fold == FoldKind::sum && result.state[axis].empty())
        result.sums |= bit(axis);
    }
    results_.push_back(std::move(result));
  }
  for (const ArrayId id : kernel.loads)
    if (const auto& source = primitives.array(id).alias_of; source && contains(kernel.loads, *source))
      whole_.emplace_back(id, primitives.array(*source).axes.back());
  for (const int number : kernel.region.primitives) {
    const Primitive& primitive = primitives.list[static_cast<std::size_t>(number)];
    if (const AxisBits awaited = bits_of(awaited_axes(primitives, island, primitive.output));
        std::popcount(awaited) > 1)
      awaiting_.push_back(awaited);
    if (primitive.fold)
      folds_.push_back({primitive.output, bits_of(primitives.array(primitive.output).axes), bits_of(primitive.folded),
                        bits_of(awaited_axes(primitives, island, primitive.output))});
    if (!primitive.fold) continue;
    find_spread_state(primitive);
    const bool stored = contains(kernel.region.results, primitive.output);
    InnerFold inner{.id = primitive.output, .axes = bits_of(primitives.array(primitive.output).axes)};
    for (const AxisId axis : primitive.folded)
      for (const Result& result : results_) {
        if ((result.folded & bit(axis)) == 0 || result.id == primitive.output) continue;
        if (stored && !depends_on(primitives, island, result.id, primitive.output)) continue;
        const Primitive& producer = primitives.list[static_cast<std::size_t>(primitives.producer(result.id))];
        const bool runs_along = (producer.folds(axis) || !producer.fold) &&
                                contains(result.state.at(axis), primitive.output) &&
                                !another_fold_takes(primitives, kernel.region, primitive.output, axis);
        if (!runs_along) inner.waited |= bit(axis);
      }
    inner_.push_back(inner);
  }
}

bool KernelRules::folded(AxisId axis) const {
  return std::any_of(results_.begin(), results_.end(),
                     [&](const Result& result) { return (result.folded & bit(axis)) != 0; });
}

bool KernelRules::splits(AxisId axis) const { return folded(axis) && (mergeable_ & bit(axis)) != 0; }

bool KernelRules::adds_up(AxisId axis) const {
  return std::all_of(results_.begin(), results_.end(),
                     [&](const Result& result) { return (result.folded & ~result.sums & bit(axis)) == 0; });
}

std::string KernelRules::why_not(const AxisLoops& loops) const {
  const auto name = [&](AxisId axis) { return primitives_->diagram.axes[index(axis)].name; };
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const AxisLoop& loop = loops[i];
    const auto known = axes_.find(loop.axis);
    if (known == axes_.end() || known->second.kind == Streamability::Kind::absent)
      return fmt::format("nothing in this kernel has axis {}", name(loop.axis));
    const Streamability& stream = known->second;
    if (stream.kind == Streamability::Kind::refused)
      return fmt::format("{} must stay whole: {}", name(loop.axis), stream.reason);
    if (loop.parts && stream.kind == Streamability::Kind::woven)
      return fmt::format("{0} is not folded here, so there is nothing to merge; ask for {0}:group", name(loop.axis));
    if (stream.kind == Streamability::Kind::woven) continue;
    if (loop.parts && !splits(loop.axis))
      return fmt::format("{} cannot be cut into parts: every result of the kernel needs the complete fold over it",
                         name(loop.axis));
    if (loop.partition == Partition::group && !loop.parts && !adds_up(loop.axis))
      return fmt::format(
          "blocks cannot share {}: the results over it are not plain sums, so they must leave partial results to be "
          "merged",
          name(loop.axis));
    if (std::string why = restarted(loops, i); !why.empty()) return why;
    if (std::string why = state_beside_result(loops, i); !why.empty()) return why;
    for (const InnerFold& inner : inner_)
      if ((inner.waited & bit(loop.axis)) != 0 && (loop.parts || comes_back(inner.axes, loops, i)))
        return fmt::format(
            "{} is folded over {}, and a later operator needs it complete, but {}", primitives_->array(inner.id).name,
            name(loop.axis),
            loop.partition == Partition::group ? "blocks share the fold" : "a loop inside comes back to its tiles");
  }
  if (std::string why = parts_left_open(loops); !why.empty()) return why;
  const AxisLoops run = with_step_of_parts(loops);
  if (std::string why = added_again(run); !why.empty()) return why;
  return not_together(run);
}

// A block leaves the result of its part once, complete: no other loop over an axis of its folds comes back to it.
std::string KernelRules::parts_left_open(const AxisLoops& loops) const {
  const auto name = [&](AxisId axis) { return primitives_->diagram.axes[index(axis)].name; };
  const auto cut = std::find_if(loops.begin(), loops.end(), [](const AxisLoop& loop) { return loop.parts; });
  if (cut == loops.end()) return {};
  const auto stream = std::find(loops.begin(), loops.end(), AxisLoop{cut->axis, Partition::stream});
  if (stream != loops.end() && std::prev(stream)->partition == Partition::stream)
    return fmt::format(
        "{} is streamed within its parts inside another stream: the last part may take fewer steps, which is not "
        "counted",
        name(cut->axis));
  for (std::size_t i = 0; i < loops.size(); ++i)
    for (const Result& result : results_) {
      const bool over_blocks =
          loops[i].parts || ((result.folded & bit(cut->axis)) != 0 && loops[i].partition == Partition::group);
      if (over_blocks && ((result.axes | result.folded) & bit(loops[i].axis)) == 0)
        return fmt::format("each block over {} would leave the same {}", name(loops[i].axis),
                           primitives_->array(result.id).name);
      if ((result.folded & bit(loops[i].axis)) == 0 || loops[i].parts) continue;
      const bool left = (result.folded & bit(cut->axis)) != 0 && comes_back(result.axes, loops, i);
      // The one step of a part may stand inside the loop and move the result.
      const bool moved =
          stream == loops.end() && loops[i].partition == Partition::stream && (result.axes & bit(cut->axis)) != 0;
      if (left || moved)
        return fmt::format("each part of {} leaves its {} once, but the loop over {} comes back to it", name(cut->axis),
                           primitives_->array(result.id).name, name(loops[i].axis));
    }
  return {};
}

// A fold takes its steps in the innermost loop over its axes or over axes that it awaits. A loop between the fold's
// loop and that one, over an axis that the fold lacks, would repeat the step.
std::string KernelRules::added_again(const AxisLoops& loops) const {
  const auto name = [&](AxisId axis) { return primitives_->diagram.axes[index(axis)].name; };
  const auto waits_for_stream = [&](const AxisLoop& loop) {  // parts whose own stream takes the steps
    return loop.parts && contains(loops, AxisLoop{loop.axis, Partition::stream});
  };
  for (const Folding& fold : folds_) {
    const AxisBits has = fold.axes | fold.folded | fold.awaited;
    bool cut = false;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      const bool inside = cut && loops[i].partition == Partition::stream && (has & bit(loops[i].axis)) == 0;
      cut = cut || (!waits_for_stream(loops[i]) && (fold.folded & bit(loops[i].axis)) != 0);
      if (!inside) continue;
      for (std::size_t k = i + 1; k < loops.size(); ++k)
        if ((has & bit(loops[k].axis)) != 0)
          return fmt::format("{} would be added up once for each step over {}", primitives_->array(fold.id).name,
                             name(loops[i].axis));
    }
  }
  return {};
}

std::string KernelRules::not_together(const AxisLoops& loops) const {
  const auto name = [&](AxisId axis) { return primitives_->diagram.axes[index(axis)].name; };
  for (std::size_t i = 0; i < loops.size(); ++i) {
    for (const auto& [view, last] : whole_)
      if (loops[i].axis == last)
        return fmt::format("{} must stay whole: {} is a view of a tile that spans the whole axis", name(last),
                           primitives_->array(view).name);
    for (std::size_t j = i + 1; j < loops.size(); ++j)
      for (const Folding& fold : folds_) {
        if ((fold.folded & bit(loops[j].axis)) == 0) continue;
        if (((fold.axes | fold.folded | fold.awaited) & bit(loops[i].axis)) != 0) continue;
        const AxisBits both = bit(loops[i].axis) | bit(loops[j].axis);
        if (std::any_of(awaiting_.begin(), awaiting_.end(), [&](AxisBits awaited) { return (awaited & both) == both; }))
          return fmt::format("the fold of {} restarts at each step over {}, and a result needs both folds complete",
                             primitives_->array(fold.id).name, name(loops[i].axis));
      }
  }
  return {};
}

// Running state in memory belongs to one run of its fold. Blocks that repeat the fold would overwrite it.
std::string KernelRules::restarted(const AxisLoops& loops, std::size_t cut) const {
  const auto name = [&](AxisId axis) { return primitives_->diagram.axes[index(axis)].name; };
  const auto first_cut = [&](const Result& result) {
    for (std::size_t i = 0; i < cut; ++i)
      if ((result.folded & bit(loops[i].axis)) != 0) return false;
    return true;
  };
  for (const Result& result : results_) {
    if ((result.folded & bit(loops[cut].axis)) == 0 || loops[cut].parts || !first_cut(result)) continue;
    std::vector<ArrayId> kept = result.state.at(loops[cut].axis);
    kept.push_back(result.id);
    for (const ArrayId id : kept) {
      const AxisBits axes = bits_of(primitives_->array(id).axes);
      if (!comes_back(axes, loops, cut)) continue;
      for (std::size_t i = 0; i < loops.size(); ++i) {
        const AxisLoop& other = loops[i];
        const AxisBits own = axes | (id == result.id ? result.folded : 0);
        if (other.partition == Partition::group && !other.parts && (own & bit(other.axis)) == 0 && i != cut)
          return fmt::format("blocks over {} would overwrite each other's running {}", name(other.axis),
                             primitives_->array(id).name);
        if (other.partition == Partition::stream && i < cut && ((own | result.awaited) & bit(other.axis)) == 0)
          return fmt::format("the fold of {} keeps its state in memory and would restart at each step over {}",
                             primitives_->array(id).name, name(other.axis));
      }
    }
  }
  return {};
}

// State that lies in memory lies in the arrays of the folds.
std::string KernelRules::state_beside_result(const AxisLoops& loops, std::size_t cut) const {
  for (const Result& result : results_) {
    if ((result.folded & bit(loops[cut].axis)) == 0 || loops[cut].parts) continue;
    std::vector<ArrayId> kept = result.state.at(loops[cut].axis);
    kept.push_back(result.id);
    for (const ArrayId id : kept)
      if (contains(spread_, std::pair(id, loops[cut].axis)) &&
          comes_back(bits_of(primitives_->array(id).axes), loops, cut))
        return fmt::format("{} follows from several sums while {} is folded, and only {} itself can lie in memory",
                           primitives_->array(id).name, primitives_->diagram.axes[index(loops[cut].axis)].name,
                           primitives_->array(id).name);
  }
  return {};
}

NestCost KernelRules::cost(const AxisLoops& loops) const {
  NestCost cost;
  const std::vector<ArrayId> not_read = unread(loops);
  for (const AxisLoop& loop : loops) {
    cost.tiled |= loop.parts ? part_bit(loop.axis) : bit(loop.axis);
    if (loop.parts) cost.parts |= bit(loop.axis);
    if (loop.partition == Partition::group) cost.groups |= loop.parts ? part_bit(loop.axis) : bit(loop.axis);
  }
  for (const auto& [id, axes, awaited, minor] : loads_) {
    cost.unread.push_back(contains(not_read, id));
    cost.repeated.emplace_back(id, cost.unread.back() ? AxisBits{0} : repeated(axes, 0, awaited, loops));
    cost.minor.push_back(minor);
  }
  std::set<ArrayId> state;
  for (const Result& result : results_) {
    cost.repeated.emplace_back(result.id, repeated(result.axes, result.folded, result.awaited, loops));
    cost.minor.push_back(0);
    for (std::size_t i = 0; i < loops.size(); ++i) {
      const auto kept = result.state.find(loops[i].axis);
      if (kept == result.state.end() || !comes_back(result.axes, loops, i)) continue;
      for (const ArrayId id : kept->second)
        if (comes_back(bits_of(primitives_->array(id).axes), loops, i)) state.insert(id);
    }
  }
  for (const ArrayId id : state)
    cost.state.emplace_back(id, repeated(bits_of(primitives_->array(id).axes), ~AxisBits{0}, 0, loops));
  // Tiles that the innermost stream does not move are kept over it, and so is every fold that a loop cuts.
  const bool streams = !loops.empty() && loops.back().partition == Partition::stream;
  // Inputs that the next outer stream moves too are live only before or only after the end of the innermost stream.
  const auto leaves = [&](AxisBits axes) {
    if (loops.size() < 2) return true;
    const AxisLoop& around = loops[loops.size() - 2];
    return around.partition == Partition::group || (axes & bit(around.axis)) != 0;
  };
  for (const auto& [id, axes, awaited, minor] : loads_) {
    if (!streams || (axes & bit(loops.back().axis)) != 0 || contains(not_read, id)) continue;
    if (!leaves(axes) || (awaited & bit(loops.back().axis)) == 0) cost.resident.push_back(id);
    if (!leaves(axes)) cost.resident.push_back(id);  // it is live in the epilogue, too
  }
  for (const Folding& fold : folds_)
    if (std::any_of(loops.begin(), loops.end(),
                    [&](const AxisLoop& loop) { return (fold.folded & bit(loop.axis)) != 0; }))
      cost.resident.push_back(fold.id);
  std::sort(cost.resident.begin(), cost.resident.end());
  return cost;
}

}  // namespace tilescope
