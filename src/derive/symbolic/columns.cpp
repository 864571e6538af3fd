#include "derive/symbolic/columns.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/contains.h"
#include "diagram/streamability.h"

namespace tilescope {
namespace {

class Liveness {
 public:
  Liveness(const Island& island, const Primitives& primitives)
      : island_(island), primitives_(primitives), inside_(primitives_of(primitives, island)) {
    for (int step = 0; step < static_cast<int>(inside_.size()); ++step)
      for (const ArrayId id : inputs(step)) {
        first_use_.try_emplace(source(id), step);
        last_use_[source(id)] = step;
      }
    for (int step = 0; step < static_cast<int>(inside_.size()); ++step) made_[at(step).output] = step;
    for (int step = 0; step < static_cast<int>(inside_.size()); ++step) keep_for_written_out(step);
    for (int step = 0; step < static_cast<int>(inside_.size()); ++step)
      if (const std::vector<ArrayId> apart = taken_apart(step); !apart.empty() && is_several_sums(at(step)))
        for (const ArrayId map : apart) {
          unformed_.insert(map);
          for (const ArrayId id : moved_inputs(at(made_.at(map)))) last_use_[source(id)] = step;
        }
  }

  std::vector<LiveColumn> run(std::int64_t buffers) const {
    std::vector<LiveColumn> columns;
    for (int step = 0; step < static_cast<int>(inside_.size()); ++step) {
      LiveColumn column{at(step).name, {}};
      for (std::size_t a = 0; a < primitives_.diagram.arrays.size(); ++a) {
        const auto id = static_cast<ArrayId>(static_cast<int>(a));
        if (live_at(id, step)) column.live.push_back({id, fetched_every_step(id) ? buffers : 1});
      }
      columns.push_back(std::move(column));
    }
    return columns;
  }

 private:
  const Primitive& at(int step) const {
    return primitives_.list[static_cast<std::size_t>(inside_[static_cast<std::size_t>(step)])];
  }
  ArrayId source(ArrayId id) const { return primitives_.array(id).alias_of.value_or(id); }
  std::vector<ArrayId> inputs(int step) const {
    std::vector<ArrayId> all = at(step).inputs;
    all.insert(all.end(), at(step).reads.begin(), at(step).reads.end());
    std::erase_if(all, [&](ArrayId id) { return contains(island_.unread, id); });
    return all;
  }

  const Loop* innermost_stream() const {
    if (island_.loops.empty() || island_.loops.back().partition != Partition::stream) return nullptr;
    return &island_.loops.back();
  }

  bool made_here(ArrayId id) const { return made_.contains(id); }

  // Inputs that the innermost stream moves.
  std::vector<ArrayId> moved_inputs(const Primitive& primitive) const {
    std::vector<ArrayId> moved = primitive.inputs;
    std::erase_if(moved, [&](ArrayId id) { return !primitives_.array(id).has(innermost_stream()->axis); });
    return moved;
  }

  bool taken_once(ArrayId id) const {
    return std::count_if(inside_.begin(), inside_.end(), [&](int number) {
             return contains(primitives_.list[static_cast<std::size_t>(number)].inputs, id);
           }) == 1;
  }

  // Maps that a fold alone takes are written out into it where it streams after another fold: what they load stays
  // until then.
  void keep_for_written_out(int step) {
    const auto producer = [&](ArrayId id) { return made_here(id) ? &at(made_.at(id)) : nullptr; };
    if (!at(step).fold || !running(at(step).output) || !follows_a_fold(at(step), producer)) return;
    std::vector<ArrayId> open = at(step).inputs;
    while (!open.empty()) {
      const ArrayId id = open.back();
      open.pop_back();
      if (const auto last = last_use_.find(source(id)); !made_here(id) && last != last_use_.end())
        last->second = std::max(last->second, step);
      if (made_here(id) && !at(made_.at(id)).fold && taken_once(id))
        open.insert(open.end(), at(made_.at(id)).inputs.begin(), at(made_.at(id)).inputs.end());
    }
  }

  // Maps of several tiles of the innermost stream that the fold at `step` alone takes.
  std::vector<ArrayId> taken_apart(int step) const {
    std::vector<ArrayId> maps;
    if (!innermost_stream() || !at(step).folds(innermost_stream()->axis)) return maps;
    for (const ArrayId id : moved_inputs(at(step)))
      if (made_here(id) && !at(made_.at(id)).fold && moved_inputs(at(made_.at(id))).size() > 1 && taken_once(id))
        maps.push_back(id);
    return maps;
  }

  // A stream folds (A/l - B/k)*V as two sums, of A*V and of B*V: it never has the difference.
  bool is_several_sums(const Primitive& fold) const {
    const auto cascade = cascade_along(primitives_, {.primitives = inside_, .results = {}}, innermost_stream()->axis);
    if (!std::holds_alternative<Cascade>(cascade)) return false;
    const auto witness = derive_witness(std::get<Cascade>(cascade));
    if (!std::holds_alternative<Witness>(witness)) return false;
    const std::vector<FoldWitness>& folds = std::get<Witness>(witness).folds;
    return std::any_of(folds.begin(), folds.end(), [&](const FoldWitness& one) {
      return one.fold == primitives_.array(fold.output).name && one.rank > 1;
    });
  }

  // Folded over an axis that a loop streams or splits: kept from step to step.
  bool running(ArrayId id) const {
    const Primitive& primitive = at(made_.at(id));
    return std::any_of(island_.loops.begin(), island_.loops.end(), [&](const Loop& loop) {
      return primitive.folds(primitives_.diagram.axes[index(loop.axis)].chunks_of.value_or(loop.axis));
    });
  }

  bool fetched_every_step(ArrayId id) const {
    const Loop* stream = innermost_stream();
    return stream && !made_here(id) && primitives_.array(id).has(stream->axis);
  }

  // It awaits the folds over the innermost stream, so it runs after the stream, when the tiles of a step are no longer
  // live.
  bool final_map(int step) const {
    const Primitive& primitive = at(step);
    return !primitive.fold && !primitive.inputs.empty() && awaits_stream(primitive.output) &&
           !left_unfinished(primitive);
  }

  bool awaits_stream(ArrayId id) const {
    const Loop* stream = innermost_stream();
    if (!stream) return false;
    const auto [known, fresh] = awaits_.try_emplace(id, false);
    if (!fresh) return known->second;
    const AxisId folded = primitives_.diagram.axes[index(stream->axis)].chunks_of.value_or(stream->axis);
    const std::vector<AxisId> awaited = awaited_axes(primitives_, island_, id);
    return known->second = contains(awaited, folded);
  }
  // Whether an input that the innermost stream kept is another one at the next step of the stream around it: there is
  // none, or it moves the tile.
  bool left_with_the_stream(ArrayId id) const {
    if (island_.loops.size() < 2) return true;
    const Loop& around = island_.loops[island_.loops.size() - 2];
    return around.partition == Partition::group || primitives_.array(id).has(around.axis);
  }

  // An input of the epilogue alone: loaded when the stream has ended, unless it stays from one stream to the next.
  bool epilogue_input(ArrayId id) const {
    return !made_here(id) && !fetched_every_step(id) && awaits_stream(id) && left_with_the_stream(id);
  }

  // Whether a stream inside the fold of an input leaves the output's tile before the fold is complete.
  bool left_unfinished(const Primitive& primitive) const {
    bool inside = false;
    for (const Loop& loop : island_.loops) {
      if (inside && loop.partition == Partition::stream && primitives_.array(primitive.output).has(loop.axis))
        return true;
      const AxisId folded = primitives_.diagram.axes[index(loop.axis)].chunks_of.value_or(loop.axis);
      inside = inside || std::any_of(primitive.inputs.begin(), primitive.inputs.end(),
                                     [&](ArrayId id) { return made_here(id) && at(made_.at(id)).folds(folded); });
    }
    return false;
  }

  // Whether the innermost stream moves the value, or it follows from what the stream folds.
  bool of_the_stream(ArrayId id) const {
    const Loop* stream = innermost_stream();
    if (!stream || !made_here(id)) return stream && primitives_.array(id).has(stream->axis);
    const Primitive& primitive = at(made_.at(id));
    const std::vector<AxisId> axes = primitives_.axes_of(primitive);
    return std::find(axes.begin(), axes.end(), stream->axis) != axes.end() ||
           std::any_of(primitive.inputs.begin(), primitive.inputs.end(),
                       [&](ArrayId input) { return made_here(input) && of_the_stream(input); });
  }

  // A value that is computed once before the innermost stream and used in its steps, or after it.
  bool kept_over_the_stream(ArrayId id) const {
    if (!innermost_stream() || !made_here(id) || running(id) || of_the_stream(id)) return false;
    return std::any_of(inside_.begin(), inside_.end(), [&](int number) {
      const Primitive& user = primitives_.list[static_cast<std::size_t>(number)];
      return std::find(user.inputs.begin(), user.inputs.end(), id) != user.inputs.end() && of_the_stream(user.output);
    });
  }

  bool live_at(ArrayId id, int step) const {
    if (source(id) != id || unformed_.contains(id)) return false;
    const bool of_a_step =
        made_here(id) ? !running(id) && !awaits_stream(id) : fetched_every_step(id) || !last_use_.contains(id);
    if (final_map(step) && id != at(step).output && of_a_step) return false;
    const auto used = last_use_.find(id);
    if (kept_over_the_stream(id)) return true;
    if (made_here(id)) {
      if (running(id)) return used == last_use_.end() || !overwritten(id, step);
      const int made = made_.at(id), last = used == last_use_.end() ? made : used->second;
      if (step < made || step > last) return false;
      return step == made || !overwritten(id, step);
    }
    if (used == last_use_.end()) return false;
    if (final_map(step) && step > used->second && left_with_the_stream(id)) return false;
    if (innermost_stream() && !fetched_every_step(id) && !epilogue_input(id)) return true;
    return step >= first_use_.at(id) && step <= used->second;
  }

  // The map at `step` is the last use of the tile and overwrites it with its result of the same shape.
  bool overwritten(ArrayId id, int step) const {
    const Primitive& primitive = at(step);
    if (primitive.fold || last_use_.at(id) != step ||
        primitives_.array(primitive.output).axes != primitives_.array(id).axes)
      return false;
    const auto same = [&](ArrayId input) {
      return made_here(input) && (!running(input) || final_map(step)) && last_use_.at(input) == step &&
             primitives_.array(input).axes == primitives_.array(id).axes;
    };
    const auto first = std::find_if(primitive.inputs.begin(), primitive.inputs.end(), same);
    return first != primitive.inputs.end() && *first == id;
  }

  const Island& island_;
  const Primitives& primitives_;
  std::vector<int> inside_;
  std::map<ArrayId, int> first_use_, last_use_, made_;
  std::set<ArrayId> unformed_;  // see taken_apart()
  mutable std::map<ArrayId, bool> awaits_;
};

}  // namespace

std::vector<LiveColumn> columns_of(const Island& island, const Primitives& primitives, std::int64_t buffers) {
  return Liveness(island, primitives).run(buffers);
}

}  // namespace tilescope
