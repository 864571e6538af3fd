#include "draw/layout/flow.h"

#include <algorithm>
#include <optional>

#include "base/contains.h"
#include "base/text.h"
#include "schedule/folds.h"

namespace tilescope::draw {
namespace {

class Builder {
 public:
  Builder(const Diagram& diagram, const Schedule* schedule) : diagram_(diagram), schedule_(schedule) {
    flow_.diagram = &diagram, flow_.schedule = schedule;
    if (schedule != nullptr) primitives_ = expand(diagram);
    add_steps();
  }

  Flow run() {
    for (std::size_t a = 0; a < diagram_.arrays.size(); ++a) {
      const auto id = static_cast<ArrayId>(static_cast<int>(a));
      const bool input = diagram_.array(id).role == ArrayRole::input;
      if (input ? !diagram_.array(id).alias_of : loaded_from(id, 0) && !is_made(id))
        flow_.first.push_back(add({.array = id, .result = id}));
    }
    live_ = flow_.first;
    for (const int lane : live_)
      flow_.lanes[static_cast<std::size_t>(lane)].ends =
          !loaded_from(flow_.lanes[static_cast<std::size_t>(lane)].array, 0);
    for (std::size_t s = 0; s <= flow_.steps.size(); ++s) {
      cross_gap(s);
      if (s < flow_.steps.size()) produce(s);
    }
    return std::move(flow_);
  }

 private:
  void add_steps() {
    const std::size_t islands = schedule_ != nullptr ? schedule_->islands.size() : 1;
    for (std::size_t i = 0; i < islands; ++i) {
      std::vector<int> operators;
      if (schedule_ != nullptr) operators = schedule_->islands[i].operators;
      else
        for (std::size_t op = 0; op < diagram_.operators.size(); ++op) operators.push_back(static_cast<int>(op));
      std::sort(operators.begin(), operators.end());
      for (const int op : operators) flow_.steps.push_back({.op = op, .island = static_cast<int>(i)});
    }
  }

  int add(Lane lane) {
    flow_.lanes.push_back(std::move(lane));
    return static_cast<int>(flow_.lanes.size()) - 1;
  }

  ArrayId source(ArrayId id) const { return diagram_.array(id).alias_of.value_or(id); }
  bool reads(std::size_t step, ArrayId id) const {
    return contains(diagram_.fetched_by(flow_.op(flow_.steps[step])), id);
  }

  bool read_on_chip(int island, ArrayId id, std::size_t from) const {
    for (std::size_t s = from; s < flow_.steps.size(); ++s)
      if (flow_.steps[s].island == island && reads(s, id)) return true;
    return false;
  }

  // The step at which an island first fetches the array, or a view of it, from the outer level.
  std::optional<std::size_t> first_load(int island, ArrayId id) const {
    std::vector<ArrayId> made;
    for (std::size_t s = 0; s < flow_.steps.size(); ++s) {
      if (flow_.steps[s].island != island) continue;
      for (const ArrayId read : diagram_.fetched_by(flow_.op(flow_.steps[s])))
        if (source(read) == id && !contains(made, read)) return s;
      const auto& outputs = flow_.op(flow_.steps[s]).outputs;
      made.insert(made.end(), outputs.begin(), outputs.end());
    }
    return std::nullopt;
  }

  bool loaded_from(ArrayId id, std::size_t from) const {
    for (std::size_t s = from; s < flow_.steps.size(); ++s)
      if (first_load(flow_.steps[s].island, id) == s) return true;
    return false;
  }

  void load(int lane, ArrayId id, std::size_t s, int via = -1) {
    const int island = flow_.steps[s].island;
    for (std::size_t a = 0; a < diagram_.arrays.size(); ++a) {
      const auto part = static_cast<ArrayId>(static_cast<int>(a));
      if (source(part) != id) continue;
      const Operator& op = flow_.op(flow_.steps[s]);
      const bool places = contains(op.reads, part) && !contains(op.inputs, part);
      const Lane on_chip{.array = part, .result = part, .island = island, .view = part != id, .places = places};
      if (reads(s, part)) use(lane, add(on_chip), s, via);
      if (read_on_chip(island, part, s + 1)) link(lane, add(on_chip), s, via);
    }
  }

  void link(int from, int to, std::size_t s, int via = -1) {
    flow_.gaps[s].push_back({from, to, via});
    next_.push_back(to);
  }
  void use(int from, int to, std::size_t s, int via = -1) {
    flow_.gaps[s].push_back({from, to, via});
    flow_.steps[s].inputs.push_back(to);
  }

  // An array that the next step loads into another island is at the outer level only between the two steps.
  void store(int l, const Lane& lane, std::size_t s) {
    const int outer = add(stored(lane));
    const bool loaded =
        schedule_ != nullptr && s < flow_.steps.size() && first_load(flow_.steps[s].island, lane.array) == s;
    if (loaded) load(l, lane.array, s, outer);
    if (diagram_.array(lane.array).role == ArrayRole::output || loaded_from(lane.array, s + 1)) link(l, outer, s);
  }

  void cross_gap(std::size_t s) {
    flow_.gaps.emplace_back();
    next_.clear();
    for (const int l : live_) {
      const Lane lane = flow_.lanes[static_cast<std::size_t>(l)];
      if (lane.island == outer_memory) {
        if (s < flow_.steps.size() && first_load(flow_.steps[s].island, lane.array) == s) load(l, lane.array, s);
        if (diagram_.array(lane.array).role == ArrayRole::output || loaded_from(lane.array, s + 1)) link(l, l, s);
        continue;
      }
      const bool here = s < flow_.steps.size() && flow_.steps[s].island == lane.island && reads(s, lane.result);
      const bool later = read_on_chip(lane.island, lane.result, here ? s + 1 : s);
      if (here) use(l, later ? add(lane) : l, s);
      if (later) link(l, l, s);
      if (s > 0 && is_made_by(s - 1, l) && is_stored(lane)) store(l, lane, s);
    }
    live_ = next_;
    if (s < flow_.steps.size()) order_inputs(flow_.steps[s]);
  }

  // As the operator lists them.
  void order_inputs(Step& step) const {
    const std::vector<ArrayId> listed = diagram_.fetched_by(flow_.op(step));
    const auto place = [&](int lane) {
      return std::find(listed.begin(), listed.end(), flow_.lanes[static_cast<std::size_t>(lane)].result) -
             listed.begin();
    };
    std::sort(step.inputs.begin(), step.inputs.end(), [&](int a, int b) { return place(a) < place(b); });
  }

  // An array that only a schedule creates is drawn at the left if its diagram is drawn without the schedule.
  bool is_made(ArrayId id) const {
    const bool yielded = std::any_of(diagram_.operators.begin(), diagram_.operators.end(),
                                     [&](const Operator& op) { return contains(op.outputs, id); });
    const auto stores = [&](const Island& island) {
      return std::any_of(island.stored_as.begin(), island.stored_as.end(),
                         [&](const Stored& stored) { return stored.as == id; });
    };
    return yielded ||
           (schedule_ != nullptr && std::any_of(schedule_->islands.begin(), schedule_->islands.end(), stores));
  }
  bool is_made_by(std::size_t step, int lane) const {
    const auto& outputs = flow_.steps[step].outputs;
    return contains(outputs, lane);
  }
  bool is_stored(const Lane& lane) const {
    if (schedule_ == nullptr) return diagram_.array(lane.array).role == ArrayRole::output;
    return schedule_->writes(schedule_->islands[static_cast<std::size_t>(lane.island)], lane.array);
  }

  Lane stored(const Lane& lane) const {
    Lane outer{.array = lane.array, .result = lane.array};
    if (schedule_ == nullptr) return outer;
    const Island& island = schedule_->islands[static_cast<std::size_t>(lane.island)];
    const std::string ways[] = {"read, added to and written back", "added to atomically", "added to by reductions"};
    const Stored how = schedule_->how_stored(island, lane.array);
    const auto axes = folded_axes(primitives_, island, how.result);
    const bool listed = std::any_of(island.stored_as.begin(), island.stored_as.end(),
                                    [&](const Stored& other) { return other.as == how.as && !diagram_chunks(how.as); });
    outer.state = listed || std::any_of(axes.begin(), axes.end(), [&](AxisId axis) {
                    return !diagram_chunks(how.as) && comes_back(diagram_, island, how.result, axis);
                  });
    if (outer.state) outer.note = ways[static_cast<std::size_t>(how.by)] + " in outer memory";
    return outer;
  }
  bool diagram_chunks(ArrayId id) const {
    const auto& axes = diagram_.array(id).axes;
    return std::any_of(axes.begin(), axes.end(),
                       [&](AxisId axis) { return diagram_.axes[index(axis)].chunks_of.has_value(); });
  }

  // Whether the island streams an axis that the result is folded over.
  bool accumulates(const Step& step, ArrayId result, std::string& note) const {
    if (schedule_ == nullptr) return false;
    const Island& island = schedule_->islands[static_cast<std::size_t>(step.island)];
    std::vector<AxisId> axes = folded_axes(primitives_, island, result);
    const Operator& op = flow_.op(step);
    if (op.kind == OperatorKind::merge) axes = op.over;
    std::vector<std::string> names;
    for (const Loop& loop : island.loops)
      if (loop.partition == Partition::stream && contains(axes, loop.axis))
        names.push_back(diagram_.axes[index(loop.axis)].name);
    const bool listed = std::any_of(island.stored_as.begin(), island.stored_as.end(),
                                    [&](const Stored& other) { return other.as == result; });
    if (!names.empty()) note = "running state of the stream over " + join(names, ", ");
    else if (listed) note = "running state";
    return listed || !names.empty();
  }

  void produce(std::size_t s) {
    Step& step = flow_.steps[s];
    for (const ArrayId id : flow_.op(step).outputs) {
      Lane lane{.array = id, .result = id, .island = step.island};
      if (schedule_ != nullptr)
        for (const Stored& as : schedule_->islands[static_cast<std::size_t>(step.island)].stored_as)
          if (as.result == id) lane.array = as.as;
      lane.state = accumulates(step, id, lane.note);
      lane.ends = !is_stored(lane) && !read_on_chip(step.island, id, s + 1);
      if (lane.ends) lane.state = false, lane.note = "not stored";
      step.outputs.push_back(add(lane));
    }
    live_.insert(live_.end(), step.outputs.begin(), step.outputs.end());
  }

  const Diagram& diagram_;
  const Schedule* schedule_;
  Primitives primitives_{};
  Flow flow_;
  std::vector<int> live_, next_;
};

}  // namespace

const Loop* loop_over(const Flow& flow, int lane, AxisId axis) {
  if (!flow.on_chip(lane)) return nullptr;
  const auto& loops =
      flow.schedule->islands[static_cast<std::size_t>(flow.lanes[static_cast<std::size_t>(lane)].island)].loops;
  const auto last = std::find_if(loops.rbegin(), loops.rend(), [&](const Loop& loop) { return loop.axis == axis; });
  return last == loops.rend() ? nullptr : &*last;
}

Flow flow_of(const Diagram& diagram, const Schedule* schedule) {
  return Builder(schedule ? schedule->diagram : diagram, schedule).run();
}

}  // namespace tilescope::draw
