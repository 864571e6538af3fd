#include "program/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/contains.h"
#include "diagram/streamability.h"
#include "program/place_loads.h"
#include "program/places.h"
#include "schedule/folds.h"

namespace tilescope {
namespace {

using Kind = Statement::Kind;

class TileProgramBuilder {
 public:
  TileProgramBuilder(const Schedule& schedule, const Primitives& primitives, int island)
      : schedule_(schedule),
        primitives_(primitives),
        island_(schedule.islands[static_cast<std::size_t>(island)]),
        inside_(primitives_of(primitives, island_)) {
    out_.name = island_.name, out_.island = island, out_.loops = island_.loops;
    while (out_.groups < static_cast<int>(island_.loops.size()) && loop(out_.groups).partition == Partition::group)
      ++out_.groups;
    levels_.before.resize(island_.loops.size() + 1), levels_.after.resize(island_.loops.size() + 1);
  }

  TileProgram run() {
    for (std::size_t a = 0; a < schedule_.diagram.arrays.size(); ++a)
      if (const auto as = static_cast<ArrayId>(static_cast<int>(a)); schedule_.writes(island_, as))
        find_live(schedule_.how_stored(island_, as).result);
    for (std::size_t a = 0; a < schedule_.diagram.arrays.size(); ++a) {
      const auto as = static_cast<ArrayId>(static_cast<int>(a));
      if (schedule_.writes(island_, as)) result(schedule_.how_stored(island_, as));
    }
    for (const auto& [name, run] : running_)
      if (run.comes_back && !out_.tiles[static_cast<std::size_t>(run.tile)].memory)
        refuse(fmt::format("a loop comes back to {} before it is complete, and it is not stored", name));
    for (const int number : loads_)
      place_load(levels_, out_, readers_of(number), number,
                 level_of(out_.tiles[static_cast<std::size_t>(number)].axes));
    out_.body = nest(out_.groups - 1);
    for (int i = out_.groups - 1; i >= 0; --i) {
      Statement around{.kind = Kind::loop, .loop = i, .body = std::move(out_.body)};
      out_.body = {std::move(around)};
    }
    return std::move(out_);
  }

 private:
  const Loop& loop(int i) const { return island_.loops[static_cast<std::size_t>(i)]; }
  int loop_count() const { return static_cast<int>(island_.loops.size()); }
  const Array& array(ArrayId id) const { return primitives_.array(id); }
  bool carries(const std::vector<AxisId>& axes, int i) const {
    const AxisId axis = loop(i).axis;
    const auto& of = schedule_.diagram.axes[index(axis)].chunks_of;
    return contains(axes, axis) || (of && contains(axes, *of));
  }
  [[noreturn]] void refuse(const std::string& reason) const { throw NoProgram{reason}; }

  // The statements of a level: what comes before the loop inside, the loop, what comes after it.
  std::vector<Statement> nest(int level) {
    std::vector<Statement> body = std::move(levels_.before[static_cast<std::size_t>(level + 1)]);
    if (level + 1 < loop_count()) body.push_back({.kind = Kind::loop, .loop = level + 1, .body = nest(level + 1)});
    auto& rest = levels_.after[static_cast<std::size_t>(level + 1)];
    body.insert(body.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
    return body;
  }

  void put(const Place& place, Statement statement) {
    statement.last_of = place.last_of;
    auto& where = place.after ? levels_.after : levels_.before;
    where[static_cast<std::size_t>(place.level + 1)].push_back(std::move(statement));
  }

  int tile(const std::string& name, const std::vector<AxisId>& axes, std::optional<FoldKind> kind = {}) {
    if (const int known = out_.find(name); known >= 0) return known;
    out_.tiles.push_back({.name = name, .axes = axes, .kind = kind});
    return static_cast<int>(out_.tiles.size()) - 1;
  }
  int tile(ArrayId id) { return tile(array(id).name, array(id).axes); }

  // Innermost loop that moves a value with these axes; blocks compute everything for themselves.
  int level_of(const std::vector<AxisId>& axes) const {
    int level = out_.groups - 1;
    for (int i = 0; i < loop_count(); ++i)
      if (carries(axes, i)) level = std::max(level, i);
    return level;
  }

  const Primitive* producer(ArrayId id) const {
    for (const int number : inside_)
      if (const Primitive& made = primitives_.list[static_cast<std::size_t>(number)]; made.output == id) return &made;
    return nullptr;
  }

  // Loops that cut the fold: it is complete when they have ended.
  std::vector<int> cuts(const Primitive& fold) const {
    std::vector<int> found;
    for (int i = 0; i < loop_count(); ++i)
      if (fold.fold && fold.folds(loop(i).axis)) found.push_back(i);
    return found;
  }

  // ---- places

  // The place of a value that needs these inputs, each complete, and runs in these loops at least.
  Place place_of(const std::string& what, int level, const std::vector<Place>& inputs) const {
    Place place;
    if (!join(inputs, level, place))
      refuse(fmt::format("{} needs a fold complete that ends outside the loop over {}", what,
                         schedule_.diagram.axes[index(loop(place.level).axis)].name));
    return place;
  }

  // Adds whatever makes the array complete on the chip; its place.
  Place complete(ArrayId id) {
    if (const auto known = complete_.find(id); known != complete_.end()) return known->second;
    const Primitive* made = producer(id);
    Place place = !made ? loaded(id) : cuts(*made).empty() ? computed(*made) : folded(*made);
    complete_.insert_or_assign(id, place);
    return place;
  }

  Place loaded(ArrayId id) {
    const auto& source = array(id).alias_of;
    const int number = tile(id);
    if (source && schedule_.reads(island_, *source)) {
      out_.tiles[static_cast<std::size_t>(number)].view_of = tile(*source);
      if (level_of({array(*source).axes.back()}) >= out_.groups)
        refuse(fmt::format("{} is a view of {}, whose last axis is cut", array(id).name, array(*source).name));
      return complete(*source);
    }
    out_.tiles[static_cast<std::size_t>(number)].memory = id;
    loads_.push_back(number);
    return {.level = level_of(array(id).axes)};
  }

  Place computed(const Primitive& made) {
    std::vector<Place> inputs;
    for (const ArrayId input : made.inputs) inputs.push_back(complete(input));
    for (const ArrayId input : made.reads) inputs.push_back(complete(input));
    std::vector<AxisId> axes = primitives_.axes_of(made);
    for (const std::string& name : made.body.index_axes()) axes.push_back(*primitives_.diagram.find_axis(name));
    const Place place = place_of(array(made.output).name, level_of(axes), inputs);
    put(place, {.kind = Kind::compute,
                .tile = tile(made.output),
                .value = made.body,
                .fold = made.fold,
                .over = made.folded,
                .masked = made.fold && masked(made.inputs)});
    return place;
  }

  bool masked(const std::vector<ArrayId>& inputs) const {
    const auto& guard = schedule_.diagram.guard;
    return guard && std::any_of(inputs.begin(), inputs.end(),
                                [&](ArrayId id) { return array(id).has(guard->query) && array(id).has(guard->key); });
  }

  // ---- folds that loops cut

  struct Running {
    StateVariable variable{};
    const Primitive* fold = nullptr;
    int tile = -1;
    Place update{};
    bool comes_back = false;
    bool late = false;  // it runs at the last step of a loop outside those that cut it
  };

  // Whether folds over one of these axes stand before this one.
  bool follows_a_fold(const Primitive& fold) const {
    std::vector<ArrayId> open = fold.inputs;
    std::set<ArrayId> seen;
    while (!open.empty()) {
      const ArrayId id = open.back();
      open.pop_back();
      const Primitive* made = producer(id);
      if (!made || !seen.insert(id).second) continue;
      for (const AxisId axis : made->folded)
        if (fold.folds(axis)) return true;
      open.insert(open.end(), made->inputs.begin(), made->inputs.end());
    }
    return false;
  }

  const Witness& witness(AxisId axis) {
    if (const auto known = witnesses_.find(axis); known != witnesses_.end()) return known->second;
    const auto cascade = cascade_along(primitives_, {.primitives = inside_, .results = {}}, axis);
    if (const auto* refusal = std::get_if<Refusal>(&cascade)) refuse(refusal->reason);
    auto found = derive_witness(std::get<Cascade>(cascade));
    if (const auto* refusal = std::get_if<Refusal>(&found)) refuse(refusal->reason);
    return witnesses_.emplace(axis, std::get<Witness>(std::move(found))).first->second;
  }

  // The variable of this name in the witness along the axis, updated where it can be.
  const Running& running(const StateVariable& variable, const Primitive& fold) {
    if (const auto known = running_.find(variable.name); known != running_.end()) return known->second;
    Running run{.variable = variable, .fold = &fold};
    run.tile = tile(variable.name, array(fold.output).axes, variable.kind);
    out_.tiles[static_cast<std::size_t>(run.tile)].kind = variable.kind;
    out_.state.push_back(variable.name);
    const std::vector<int> loops = cuts(fold);
    std::vector<Place> inputs;
    const auto need = [&](const Expression& value) {
      for (std::string name : value.arrays()) {
        if (name.ends_with('\'')) name.pop_back();
        if (name == variable.name) continue;
        if (const StateVariable* other = variable_of(name, loops))
          inputs.push_back(running(*other, *fold_of(*other)).update);
        else inputs.push_back(complete(*primitives_.diagram.find_array(name)));
      }
    };
    need(variable.contribution);
    if (variable.repair) need(*variable.repair);
    for (const ArrayId input : fold.reads) inputs.push_back(complete(input));
    std::vector<AxisId> axes = array(fold.output).axes;
    axes.insert(axes.end(), fold.folded.begin(), fold.folded.end());
    run.update = place_of(variable.name, level_of(axes), inputs);
    out_.tiles[static_cast<std::size_t>(run.tile)].restarts_in = loops.front();
    run.comes_back = loop(loops.front()).partition == Partition::group;
    for (int i = loops.front() + 1; i < loop_count(); ++i)
      run.comes_back = run.comes_back || carries(array(fold.output).axes, i);
    for (int i = loops.front() + 1; i <= run.update.level; ++i)
      if (!contains(loops, i) && !carries(array(fold.output).axes, i) && !ended(run.update, i))
        refuse(fmt::format("{} would be added up once for each step over {}", variable.name,
                           schedule_.diagram.axes[index(loop(i).axis)].name));
    run.late = std::any_of(run.update.last_of.begin(), run.update.last_of.end(), [&](int number) {
      return out_.tiles[static_cast<std::size_t>(number)].restarts_in < loops.front();
    });
    add_update(run, loops);
    return running_.insert_or_assign(variable.name, std::move(run)).first->second;
  }

  // Whether the place is reached at the last step of the loop only.
  bool ended(const Place& place, int i) const {
    return std::any_of(place.last_of.begin(), place.last_of.end(), [&](int number) {
      const auto run = running_.find(out_.tiles[static_cast<std::size_t>(number)].name);
      return run != running_.end() && run->second.fold->folds(loop(i).axis);
    });
  }

  // Whether what follows from the fold runs in a loop inside those that cut it: then it runs at their last step.
  bool needed_inside(const Primitive& fold, int outermost) const {
    std::set<ArrayId> follows{fold.output};
    for (const int number : inside_) {
      const Primitive& made = primitives_.list[static_cast<std::size_t>(number)];
      const auto takes = [&](ArrayId input) { return follows.contains(input); };
      if (std::none_of(made.inputs.begin(), made.inputs.end(), takes)) continue;
      const std::vector<AxisId> axes = primitives_.axes_of(made);
      if (std::any_of(fold.folded.begin(), fold.folded.end(), [&](AxisId axis) { return contains(axes, axis); }))
        continue;  // it runs along
      follows.insert(made.output);
      if (live_.contains(made.output) && level_of(axes) >= outermost) return true;
    }
    return false;
  }

  // Everything that a result needs.
  void find_live(ArrayId id) {
    const Primitive* made = producer(id);
    if (!live_.insert(id).second || !made) return;
    for (const ArrayId input : made->inputs) find_live(input);
  }

  void add_update(const Running& run, const std::vector<int>& loops) {
    if (run.comes_back) put(run.update, {.kind = Kind::resume, .tile = run.tile});
    else put({.level = loops.front() - 1}, {.kind = Kind::start, .tile = run.tile});
    put(run.update, {.kind = Kind::fold,
                     .tile = run.tile,
                     .value = run.variable.contribution,
                     .repair = run.variable.repair,
                     .fold = run.variable.kind,
                     .over = run.fold->folded,
                     .masked = !run.variable.guards.empty()});
  }

  const Primitive* fold_of(const StateVariable& variable) const {
    return producer(*primitives_.diagram.find_array(variable.fold));
  }

  const StateVariable* variable_of(const std::string& name, const std::vector<int>& loops) {
    for (const StateVariable& variable : witness(loop(loops.front()).axis).state)
      if (variable.name == name) return &variable;
    return nullptr;
  }

  // The finished value of a fold that loops cut.
  Place folded(const Primitive& fold) {
    const std::vector<int> loops = cuts(fold);
    const std::string& name = array(fold.output).name;
    Expression value = Expression::array(name);
    std::vector<const Running*> parts;
    if (!follows_a_fold(fold)) {
      StateVariable own{.name = name, .fold = name, .kind = *fold.fold, .contribution = fold.body};
      if (masked(fold.inputs)) own.guards = {name};
      running(own, fold);
      parts.push_back(&running_.at(name));
    } else {
      const Witness& known = witness(loop(loops.front()).axis);
      for (const FoldWitness& one : known.folds)
        if (one.fold == name) value = one.value;
      for (const std::string& part : value.arrays())
        if (const StateVariable* variable = variable_of(part, loops)) {
          const Primitive* owner = fold_of(*variable);
          if (!owner) refuse(fmt::format("{} counts positions", part));
          running(*variable, *owner);
        }
      for (const std::string& part : value.arrays())
        if (const auto at = running_.find(part); at != running_.end()) parts.push_back(&at->second);
    }
    return finished(fold, value, parts, loops);
  }

  Place finished(const Primitive& fold, const Expression& value, const std::vector<const Running*>& parts,
                 const std::vector<int>& loops) {
    Place place{.level = loops.front() - 1, .after = true};
    std::vector<Place> at;
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
    if (value != Expression::array(array(fold.output).name))
      put(place, {.kind = Kind::finalise, .tile = number, .value = value});
    return place;
  }

  // ---- what leaves the chip

  void result(const Stored& how) {
    const Primitive* made = producer(how.result);
    if (!made) refuse(fmt::format("{} is not computed here", array(how.result).name));
    Place place = complete(how.result);
    const int number = tile(how.result);
    out_.tiles[static_cast<std::size_t>(number)].memory = how.as;
    if (const auto run = running_.find(array(how.result).name);
        run != running_.end() && (run->second.comes_back || run->second.late)) {
      place.level = std::max(place.level, run->second.update.level);
      place.last_of = run->second.update.last_of;  // at every visit
    }
    put(place, {.kind = Kind::store, .tile = number});
  }

  // Tiles whose operators read places from this one: a block table.
  std::vector<int> readers_of(int number) const {
    const auto id = out_.tiles[static_cast<std::size_t>(number)].memory;
    std::vector<int> readers;
    for (const int inside : inside_) {
      const Primitive& made = primitives_.list[static_cast<std::size_t>(inside)];
      if (id && contains(made.reads, *id))
        if (const int tile = out_.find(array(made.output).name); tile >= 0) readers.push_back(tile);
    }
    return readers;
  }

  const Schedule& schedule_;
  const Primitives& primitives_;
  const Island& island_;
  std::vector<int> inside_;
  TileProgram out_;
  Levels levels_;
  std::map<ArrayId, Place> complete_;
  std::map<std::string, Running, std::less<>> running_;
  std::map<AxisId, Witness> witnesses_;
  std::vector<int> loads_;
  std::set<ArrayId> live_;
};

}  // namespace

std::variant<TileProgram, NoProgram> build_program(const Schedule& schedule, const Primitives& primitives, int island) {
  try {
    return TileProgramBuilder(schedule, primitives, island).run();
  } catch (const NoProgram& refusal) {
    return refusal;
  }
}

}  // namespace tilescope
