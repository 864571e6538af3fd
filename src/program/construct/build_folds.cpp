#include <fmt/format.h>

#include <algorithm>

#include "program/construct/builder.h"

namespace tilescope {
namespace {

using Kind = Statement::Kind;

}  // namespace

bool TileProgramBuilder::follows_a_fold(const Primitive& fold) const {
  return tilescope::follows_a_fold(fold, [this](ArrayId id) { return producer(id); });
}

const Witness& TileProgramBuilder::witness(AxisId axis) {
  if (const auto known = witnesses_.find(axis); known != witnesses_.end()) return known->second;
  const auto cascade = cascade_along(primitives_, {.primitives = inside_, .results = {}}, axis);
  if (const auto* refusal = std::get_if<Refusal>(&cascade)) refuse(refusal->reason);
  auto found = derive_witness(std::get<Cascade>(cascade));
  if (const auto* refusal = std::get_if<Refusal>(&found)) refuse(refusal->reason);
  return witnesses_.emplace(axis, std::get<Witness>(std::move(found))).first->second;
}

const TileProgramBuilder::Running& TileProgramBuilder::running(const StateVariable& variable, const Primitive& fold) {
  if (const auto known = running_.find(variable.name); known != running_.end()) return known->second;
  Running run{.variable = variable, .fold = &fold};
  run.tile = tile(variable.name, array(fold.output).axes, variable.kind);
  made(run.tile).kind = variable.kind;
  belongs(run.tile, fold);
  made(run.tile).uncounted = !primitives_.diagram.find_array(variable.name);
  out_.state.push_back(variable.name);
  const std::vector<int> loops = cuts(fold);
  std::vector<AxisId> axes = array(fold.output).axes;
  axes.insert(axes.end(), fold.folded.begin(), fold.folded.end());
  run.update = place_of(variable.name, level_of(axes), needs_of(variable, fold, loops));
  run.update.after = run.update.after || follows_after(fold, run.update.level);
  made(run.tile).restarts_in = loops.front();
  run.comes_back = loop(loops.front()).partition == Partition::group;
  for (int i = loops.front() + 1; i < loop_count(); ++i)
    run.comes_back = run.comes_back || carries(array(fold.output).axes, i);
  check_added_once(run, loops);
  run.late = std::any_of(run.update.last_of.begin(), run.update.last_of.end(),
                         [&](int number) { return made(number).restarts_in < loops.front(); });
  add_update(run, loops);
  return running_.insert_or_assign(variable.name, std::move(run)).first->second;
}

// Whether a fold that this one uses takes its steps behind the loop inside: then so does this one, and what both read
// is not held over that loop.
bool TileProgramBuilder::follows_after(const Primitive& fold, int level) const {
  return std::any_of(running_.begin(), running_.end(), [&](const auto& other) {
    const Running& run = other.second;
    if (!run.update.after || run.update.level != level) return false;
    std::set<ArrayId> follows{run.fold->output};
    for (const int number : inside_) {
      const Primitive& made = primitives_.list[static_cast<std::size_t>(number)];
      const bool takes =
          std::any_of(made.inputs.begin(), made.inputs.end(), [&](ArrayId input) { return follows.contains(input); });
      if (takes && &made == &fold) return true;
      if (takes) follows.insert(made.output);
    }
    return false;
  });
}

std::vector<Place> TileProgramBuilder::needs_of(const StateVariable& variable, const Primitive& fold,
                                                const std::vector<int>& loops) {
  std::vector<Place> inputs;
  const auto need = [&](const Expression& value) {
    for (std::string name : value.arrays()) {
      if (name.ends_with('\'')) name.pop_back();
      if (name == variable.name) continue;
      if (const StateVariable* other = variable_of(name, loops))
        inputs.push_back(running(*other, fold_of(*other)).update);
      else inputs.push_back(complete(*primitives_.diagram.find_array(name)));
    }
  };
  need(variable.contribution);
  if (variable.repair) need(*variable.repair);
  for (const ArrayId input : fold.reads) inputs.push_back(complete(input));
  if (const std::vector<int> last = awaited_at_the_end(fold, loops); !last.empty())
    inputs.push_back({.level = loops.front() - 1, .last_of = last});
  return inputs;
}

// Accumulators of loops around the fold's own that must be complete for it to be finished. The fold restarts at each
// step of those loops, so only their last steps count.
std::vector<int> TileProgramBuilder::awaited_at_the_end(const Primitive& fold, const std::vector<int>& loops) {
  std::vector<int> awaited;
  if (!follows_a_fold(fold)) return awaited;
  for (const FoldWitness& one : witness(loop(loops.front()).axis).folds) {
    if (one.fold != array(fold.output).name) continue;
    for (const std::string& part : one.value.arrays()) {
      if (variable_of(part, loops)) continue;
      const Place place = complete(*primitives_.diagram.find_array(part));
      if (!place.after && place.level < loops.front())
        awaited.insert(awaited.end(), place.last_of.begin(), place.last_of.end());
    }
  }
  return awaited;
}

void TileProgramBuilder::check_added_once(const Running& run, const std::vector<int>& loops) const {
  const std::vector<AxisId>& axes = array(run.fold->output).axes;
  for (int i = loops.front() + 1; i <= run.update.level; ++i)
    if (!contains(loops, i) && !carries(axes, i) && !ended(run.update, i))
      refuse(fmt::format("{} would be added up once for each step over {}", run.variable.name,
                         schedule_.diagram.axes[index(loop(i).axis)].name));
}

bool TileProgramBuilder::same_visits(int a, int b) const {
  const auto first = running_.find(made(a).name), second = running_.find(made(b).name);
  if (first == running_.end() || second == running_.end()) return false;
  const std::vector<int> loops = cuts(*first->second.fold);
  bool same = loops == cuts(*second->second.fold);
  for (int i = loops.front(); i < loop_count(); ++i)
    same = same && carries(made(a).axes, i) == carries(made(b).axes, i);
  return same;
}

bool TileProgramBuilder::ended(const Place& place, int i) const {
  return std::any_of(place.last_of.begin(), place.last_of.end(), [&](int number) {
    const auto run = running_.find(made(number).name);
    return run != running_.end() && run->second.fold->folds(loop(i).axis);
  });
}

bool TileProgramBuilder::needed_inside(const Primitive& fold, int outermost) const {
  std::set<ArrayId> follows{fold.output};
  for (const int number : inside_) {
    const Primitive& made = primitives_.list[static_cast<std::size_t>(number)];
    const auto takes = [&](ArrayId input) { return follows.contains(input); };
    if (std::none_of(made.inputs.begin(), made.inputs.end(), takes)) continue;
    const std::vector<AxisId> axes = primitives_.axes_of(made);
    if (std::any_of(fold.folded.begin(), fold.folded.end(), [&](AxisId axis) { return contains(axes, axis); }))
      continue;  // it runs along
    follows.insert(made.output);
    const bool waits = std::any_of(made.inputs.begin(), made.inputs.end(),
                                   [&](ArrayId input) { return ends_inside(input, outermost); });
    if (live_.contains(made.output) && (waits || level_of(axes) >= outermost)) return true;
  }
  return false;
}

// Whether the value is complete at the last step of the loop only, behind a loop inside.
bool TileProgramBuilder::ends_inside(ArrayId id, int outermost) const {
  const Primitive* from = producer(id);
  if (!from || carries(array(id).axes, outermost) || from->folds(loop(outermost).axis)) return false;
  if (const std::vector<int> loops = cuts(*from); !loops.empty()) return loops.front() > outermost;
  return std::any_of(from->inputs.begin(), from->inputs.end(),
                     [&](ArrayId input) { return ends_inside(input, outermost); });
}

void TileProgramBuilder::add_update(const Running& run, const std::vector<int>& loops) {
  if (run.comes_back) put(run.update, {.kind = Kind::resume, .tile = run.tile});
  else put({.level = loops.front() - 1}, {.kind = Kind::start, .tile = run.tile});
  Statement fold{.kind = Kind::fold,
                 .tile = run.tile,
                 .value = run.variable.contribution,
                 .repair = run.variable.repair,
                 .fold = run.variable.kind,
                 .over = run.fold->folded,
                 .masked = !run.variable.guards.empty()};
  if (island_.merges_tiles) add_tile_by_tile(run, std::move(fold));
  else put(run.update, std::move(fold));
}

// A tile is folded by itself, as if it were all there is, and its state is merged into the running one: both sides are
// repaired.
void TileProgramBuilder::add_tile_by_tile(const Running& run, Statement fold) {
  std::map<std::string, Expression, std::less<>> within, merged;
  for (const std::string& name : out_.state) {
    within.emplace(name + "'", Expression::array(fmt::format("{}{}", name, tile_suffix)));
    merged.emplace(name, Expression::array(fmt::format("{}{}", name, tile_suffix)));
  }
  const std::string name = fmt::format("{}{}", run.variable.name, tile_suffix);
  if (primitives_.diagram.find_array(name)) refuse(fmt::format("{} is an array of the diagram", name));
  const int own = tile(name, array(run.fold->output).axes);
  belongs(own, *run.fold), made(own).uncounted = true;
  put(run.update, {.kind = Kind::compute,
                   .tile = tile(name, array(run.fold->output).axes),
                   .value = substitute(fold.value, within),
                   .fold = fold.fold,
                   .over = fold.over,
                   .masked = fold.masked});
  fold.value = Expression::array(name);
  if (fold.repair) fold.value = fold.value * substitute(*fold.repair, merged);
  fold.over.clear(), fold.masked = false;
  put(run.update, std::move(fold));
}

void TileProgramBuilder::added_up(const Stored& how, const Primitive& fold) {
  if (fold.fold != FoldKind::sum || follows_a_fold(fold))
    refuse(fmt::format("{} is not a plain sum, so it cannot be added to what lies in memory", array(fold.output).name));
  const StateVariable variable = own_variable(fold);
  Running run{.variable = variable, .fold = &fold};
  const std::vector<AxisId>& axes = array(fold.output).axes;
  run.tile = tile(variable.name, axes, variable.kind);
  made(run.tile).kind = variable.kind;
  belongs(run.tile, fold);
  made(run.tile).uncounted = !primitives_.diagram.find_array(variable.name);
  out_.state.push_back(variable.name);
  std::vector<AxisId> all = axes;
  all.insert(all.end(), fold.folded.begin(), fold.folded.end());
  const std::vector<int> loops = cuts(fold);
  run.update = place_of(variable.name, level_of(all), needs_of(variable, fold, loops));
  const int entered = level_of(axes);
  const bool stays = run.update.level > entered;
  const Place outside{.level = entered, .after = true};
  put(stays ? Place{.level = entered} : run.update, {.kind = Kind::start, .tile = run.tile});
  put(run.update, {.kind = Kind::fold,
                   .tile = run.tile,
                   .value = variable.contribution,
                   .fold = variable.kind,
                   .over = fold.folded,
                   .masked = !variable.guards.empty()});
  keep_in(run.tile, how);
  put(stays ? outside : run.update, {.kind = Kind::add, .tile = run.tile, .by = how.by});
}

StateVariable TileProgramBuilder::own_variable(const Primitive& fold) const {
  const std::string& name = array(fold.output).name;
  StateVariable own{.name = name, .fold = name, .kind = *fold.fold, .contribution = fold.body};
  if (masked(fold.inputs)) own.guards = {name};
  return own;
}

const Primitive& TileProgramBuilder::fold_of(const StateVariable& variable) const {
  const auto id = primitives_.diagram.find_array(variable.fold);
  const Primitive* fold = id ? producer(*id) : nullptr;
  if (!fold) refuse(fmt::format("{} counts positions", variable.name));
  return *fold;
}

const StateVariable* TileProgramBuilder::variable_of(const std::string& name, const std::vector<int>& loops) {
  for (const StateVariable& variable : witness(loop(loops.front()).axis).state)
    if (variable.name == name) return &variable;
  return nullptr;
}

bool TileProgramBuilder::differs_from_state(const Primitive& fold, const std::vector<int>& loops) {
  const auto takes_state = [&](int number) {
    const Primitive& other = primitives_.list[static_cast<std::size_t>(number)];
    const std::vector<int> own = cuts(other);
    return live_.contains(other.output) && !own.empty() && own.front() == loops.front() && follows_a_fold(other);
  };
  if (std::none_of(inside_.begin(), inside_.end(), takes_state)) return false;
  const std::string& name = array(fold.output).name;
  const std::vector<FoldWitness>& folds = witness(loop(loops.front()).axis).folds;
  return variable_of(name, loops) && std::any_of(folds.begin(), folds.end(), [&](const FoldWitness& one) {
           return one.fold == name && one.value != Expression::array(name);
         });
}

Place TileProgramBuilder::folded(const Primitive& fold) {
  const std::vector<int> loops = cuts(fold);
  const std::string& name = array(fold.output).name;
  if (!follows_a_fold(fold) && !differs_from_state(fold, loops)) {
    running(own_variable(fold), fold);
    return finished(fold, {.value = Expression::array(name), .parts = {&running_.at(name)}}, loops);
  }
  Finish finish{.value = Expression::array(name)};
  std::vector<std::string> needed;
  const Witness& known = witness(loop(loops.front()).axis);
  for (const FoldWitness& one : known.folds)
    if (one.fold == name) {
      finish.value = one.value, needed = one.value.arrays();
      // What cancels out of the value still says whether the mask leaves anything to it.
      if (masked(fold.inputs)) needed.insert(needed.end(), one.parts.begin(), one.parts.end());
    }
  const auto position = [&](const std::string& part) {
    const StateVariable* variable = variable_of(part, loops);
    return variable ? &fold_of(*variable) - primitives_.list.data() : 0;
  };
  std::stable_sort(needed.begin(), needed.end(),
                   [&](const std::string& a, const std::string& b) { return position(a) < position(b); });
  for (const std::string& part : needed)
    if (const StateVariable* variable = variable_of(part, loops)) running(*variable, fold_of(*variable));
    else finish.constants.push_back(complete(*primitives_.diagram.find_array(part)));
  std::set<std::string> seen;
  for (const std::string& part : needed)
    if (const auto at = running_.find(part); at != running_.end() && seen.insert(part).second)
      finish.parts.push_back(&at->second);
  return finished(fold, finish, loops);
}

Place TileProgramBuilder::finished(const Primitive& fold, const Finish& finish, const std::vector<int>& loops) {
  const std::vector<const Running*>& parts = finish.parts;
  Place place{.level = loops.front() - 1, .after = true};
  std::vector<Place> at;
  for (const Place& constant : finish.constants)
    if (constant.level > place.level || !constant.last_of.empty()) at = finish.constants;
  const bool inside = needed_inside(fold, loops.front());
  for (const Running* part : parts)
    if (part->comes_back || part->late || inside) {
      Place last = part->update;
      if (!contains(last.last_of, part->tile)) last.last_of.push_back(part->tile);
      at.push_back(std::move(last));
    }
  if (!at.empty()) {
    for (const Running* part : parts)
      if (!part->comes_back && !part->late && !inside) at.push_back(part->update);
    place = place_of(array(fold.output).name, level_of(array(fold.output).axes), at);
  }
  const int number = tile(fold.output);
  belongs(number, fold);
  std::vector<int> own;
  for (const Running* part : parts)
    if (part->fold == &fold) own.push_back(part->tile);
  if (own.empty() && masked(fold.inputs))
    for (const Running* part : parts)
      if (!part->variable.guards.empty()) own.push_back(part->tile);
  if (finish.value != Expression::array(array(fold.output).name))
    put(place, {.kind = Kind::finalise, .tile = number, .value = finish.value, .own = own, .unit = fold.fold});
  return place;
}

}  // namespace tilescope
