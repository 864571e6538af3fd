#include "program/interpret.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "base/contains.h"
#include "program/held.h"
#include "program/position.h"

namespace tilescope {
namespace {

using Kind = Statement::Kind;
using Corner = std::vector<std::int64_t>;  // the first element of a tile along the loops that move it

// A statement with its expressions compiled.
struct Ready {
  const Statement* statement = nullptr;
  NumericExpression value{}, repair{};
  std::vector<int> uses{};  // tiles whose values it takes
  std::vector<Ready> body{};
};

class Machine {
 public:
  Machine(const TileProgram& program, const Schedule& schedule, const Nest& nest, Memory& memory)
      : program_(program), schedule_(schedule), nest_(nest), memory_(memory), at_(nest), held_(program.tiles.size()) {
    for (std::size_t i = 0; i < max_axes; ++i) sizes_[i] = nest.sizes[i];
    for (const ProgramTile& tile : program.tiles) {
      now_.emplace_back(tile.axes, sizes_, std::nan(""));
      before_.emplace_back(tile.axes, sizes_, std::nan(""));
    }
    resident_.resize(now_.size()), stored_.resize(now_.size());
    visits_.resize(now_.size()), total_visits_.resize(now_.size());
    entered_.resize(now_.size());
  }

  Execution run() {
    const std::vector<Ready> body = ready(program_.body);
    counting_ = true;
    // What runs only at a last visit is known when the visits are, so visits are counted until they stay the same.
    for (std::size_t pass = 0; pass <= now_.size(); ++pass) {
      clear();
      all(body);
      if (std::exchange(total_visits_, visits_) == visits_) break;
    }
    counting_ = false;
    clear();
    prepare_memory();
    all(body);
    out_.held = held_.most();
    return std::move(out_);
  }

 private:
  void clear() {
    for (auto& corner : resident_) corner.reset();
    for (auto& corner : stored_) corner.reset();
    for (auto& count : visits_) count.clear();
    for (auto& seen_before : entered_) seen_before.clear();
  }

  std::vector<Ready> ready(const std::vector<Statement>& statements) {
    std::vector<Ready> list;
    for (const Statement& statement : statements) {
      Ready one{.statement = &statement};
      const bool folds = statement.kind == Kind::fold;
      const auto repaired = [&](const std::string& name) { return source_of(name, true); };
      const auto either = [&](const std::string& name) { return source_of(name, statement.of_repair); };
      if (folds || statement.kind == Kind::compute || statement.kind == Kind::finalise)
        one.value = NumericExpression(statement.value, schedule_.diagram, sizes_, either);
      if (statement.repair) one.repair = NumericExpression(*statement.repair, schedule_.diagram, sizes_, repaired);
      one.uses = uses_of(statement);
      one.body = ready(statement.body);
      list.push_back(std::move(one));
    }
    return list;
  }

  std::vector<int> uses_of(const Statement& statement) const {
    std::vector<int> uses;
    const auto add = [&](int tile) {
      if (tile >= 0) uses.push_back(program_.tiles[static_cast<std::size_t>(tile)].view_of.value_or(tile));
    };
    const auto names = [&](const Expression& value) {
      for (std::string name : value.arrays()) {
        if (name.ends_with('\'')) name.pop_back();
        add(program_.find(name));
      }
    };
    names(statement.value);
    if (statement.repair) names(*statement.repair);
    if (statement.kind == Kind::fold || statement.kind == Kind::store || statement.kind == Kind::add)
      add(statement.tile);
    return uses;
  }

  // Of a running state, name' is its value after the fold; in a repair, name is its value before.
  NumericExpression::Source source_of(std::string name, bool repairs) {
    const bool next = name.ends_with('\'');
    if (next) name.pop_back();
    const int tile = program_.find(name);
    if (tile < 0) return {};
    const auto number = static_cast<std::size_t>(tile);
    const bool before = repairs && !next && contains(program_.state, name);
    return {before ? &before_[number] : &now_[number], next || before};
  }

  // Arrays that this program stores start with what they hold where nothing is visited.
  void prepare_memory() {
    for (const ProgramTile& tile : program_.tiles)
      if (tile.memory && !memory_.contains(name_of(*tile.memory)))
        memory_.emplace(name_of(*tile.memory), Values(axes_of(*tile.memory), sizes_, tile.empty));
  }
  const std::vector<AxisId>& axes_of(ArrayId id) const { return schedule_.diagram.array(id).axes; }
  const std::string& name_of(ArrayId id) const { return schedule_.diagram.array(id).name; }

  void all(const std::vector<Ready>& body) {
    for (const Ready& one : body) {
      if (!last(one)) continue;
      one.statement->kind == Kind::loop ? loop(one) : step(one);
    }
  }

  bool last(const Ready& one) const {
    return std::all_of(one.statement->last_of.begin(), one.statement->last_of.end(), [&](int tile) {
      const auto number = static_cast<std::size_t>(tile);
      const auto total = total_visits_[number].find(visited(number));
      const auto seen_now = visits_[number].find(visited(number));
      return total != total_visits_[number].end() && seen_now != visits_[number].end() &&
             seen_now->second == total->second;
    });
  }

  void loop(const Ready& one) {
    const int position = one.statement->loop;
    const BoundLoop& bound = nest_.loops[static_cast<std::size_t>(position)];
    for (std::int64_t i = 0; i < bound.trips; ++i) {
      at_.step(position, i);
      if (!at_.within_chunk(position) || !at_.alive()) continue;
      if (bound.group) {  // another block
        for (auto& corner : resident_) corner.reset();
        for (auto& corner : stored_) corner.reset();
      }
      all(one.body);
    }
    at_.leave(position);
  }

  // ---- tiles

  Box box(const std::vector<AxisId>& axes) const { return at_.box(axes); }
  std::int64_t volume(const std::vector<AxisId>& axes) const { return box(axes).volume(axes); }

  Corner corner(std::size_t tile) const {
    Corner found;
    for (const AxisId axis : program_.tiles[tile].axes) found.push_back(at_.span(axis).first);
    return found;
  }

  // An accumulator's tile, and the steps of the loops that start it anew.
  Corner visited(std::size_t tile) const {
    Corner found = at_.steps(program_.tiles[tile].restarts_in);
    const Corner own = corner(tile);
    found.insert(found.end(), own.begin(), own.end());
    return found;
  }

  // ---- statements

  void step(const Ready& one) {
    const Statement& statement = *one.statement;
    const auto tile = static_cast<std::size_t>(statement.tile);
    if (counting_) {
      if (statement.kind == Kind::fold) ++visits_[tile][visited(tile)];
      return;
    }
    held_.next();
    for (const int used : one.uses) held_.use(static_cast<std::size_t>(used));
    switch (statement.kind) {
      case Kind::load:
        load(tile);
        break;
      case Kind::start:
        fill(tile, fold_unit(*program_.tiles[tile].kind));
        hold(tile);
        break;
      case Kind::resume:
        resume(tile);
        break;
      case Kind::compute:
        compute(one, tile);
        break;
      case Kind::fold:
        fold(one, tile);
        break;
      case Kind::finalise:
        finalise(one, tile);
        break;
      case Kind::store:
        store(tile);
        break;
      case Kind::add:
        add(tile, statement.by);
        break;
      case Kind::initialise:
        initialise(tile);
        break;
      case Kind::loop:
        break;
    }
  }

  template <class Visit>
  void each(std::size_t tile, const Visit& visit) {
    const std::vector<AxisId>& axes = program_.tiles[tile].axes;
    Coordinates point{};
    const Box range = box(axes);
    for_each_point(axes, range, point, [&] { visit(point); });
  }

  void fill(std::size_t tile, double value) {
    if (resident_[tile] != corner(tile)) std::fill(now_[tile].all.begin(), now_[tile].all.end(), std::nan(""));
    resident_[tile] = corner(tile);
    each(tile, [&](const Coordinates& point) { now_[tile].at(point) = value; });
  }

  // A map may put its result in the place of an input.
  std::vector<int> same_shape(const Ready& one) const {
    std::vector<int> tiles;
    const auto shape = [&](int tile) {
      const std::vector<AxisId>& axes = program_.tiles[static_cast<std::size_t>(tile)].axes;
      return std::set<AxisId>(axes.begin(), axes.end());
    };
    for (const int used : one.uses)
      if (shape(used) == shape(one.statement->tile)) tiles.push_back(used);
    return tiles;
  }
  void hold(std::size_t tile, const std::vector<int>& over = {}) {
    if (!program_.tiles[tile].uncounted) held_.make(tile, volume(program_.tiles[tile].axes), over);
  }

  void load(std::size_t tile) {
    hold(tile);  // also where the tile of the step before is the same: M counts a tile from its load to its last use
    if (resident_[tile] == corner(tile)) return show_views(tile);
    fill(tile, 0);
    const ArrayId id = *program_.tiles[tile].memory;
    const Values& there = memory_.at(name_of(id));
    each(tile, [&](const Coordinates& point) { now_[tile].at(point) = there.at(point); });
    out_.moved[id].loaded += volume(program_.tiles[tile].axes);
    show_views(tile);
  }

  void show_views(std::size_t tile) {
    for (std::size_t view = 0; view < program_.tiles.size(); ++view)
      if (program_.tiles[view].view_of == static_cast<int>(tile)) show(view, tile);
  }

  // The first columns of a tile, as far as they lie on the chip.
  void show(std::size_t view, std::size_t tile) {
    std::fill(now_[view].all.begin(), now_[view].all.end(), std::nan(""));
    const AxisId own = program_.tiles[view].axes.back(), source = program_.tiles[tile].axes.back();
    each(view, [&](const Coordinates& point) {
      Coordinates there = point;
      there[index(source)] = point[index(own)];
      if (there[index(source)] < sizes_[index(source)]) now_[view].at(point) = now_[tile].at(there);
    });
  }

  void resume(std::size_t tile) {
    const bool first = entered_[tile].insert(visited(tile)).second && !program_.tiles[tile].zeroed;
    if (!first && resident_[tile] == corner(tile)) return;
    fill(tile, fold_unit(*program_.tiles[tile].kind));
    hold(tile);
    if (first || !program_.tiles[tile].memory) return;
    const ArrayId id = *program_.tiles[tile].memory;
    const Values& there = memory_.at(name_of(id));
    each(tile, [&](const Coordinates& point) { now_[tile].at(point) = there.at(point); });
    out_.moved[id].loaded += volume(program_.tiles[tile].axes);
  }

  void compute(const Ready& one, std::size_t tile) {
    const Statement& statement = *one.statement;
    if (resident_[tile] != corner(tile)) fill(tile, 0);
    hold(tile, statement.fold ? std::vector<int>() : same_shape(one));
    const Box folded = box(statement.over);
    each(tile, [&](const Coordinates& at) {
      Coordinates point = at;
      now_[tile].at(at) = statement.fold ? total(one, folded, point, fold_unit(*statement.fold)) : one.value.at(point);
    });
  }

  // Where nothing was folded, the state has its units and the result is the unit of its fold, too.
  void finalise(const Ready& one, std::size_t tile) {
    if (resident_[tile] != corner(tile)) fill(tile, 0);
    hold(tile, same_shape(one));
    const std::vector<int>& own = one.statement->own;
    each(tile, [&](const Coordinates& at) {
      const bool untouched = !own.empty() && std::all_of(own.begin(), own.end(), [&](int state) {
        const auto number = static_cast<std::size_t>(state);
        return now_[number].at(at) == fold_unit(*program_.tiles[number].kind);
      });
      now_[tile].at(at) = untouched ? fold_unit(*one.statement->unit) : one.value.at(at);
    });
  }

  double total(const Ready& one, const Box& folded, Coordinates& point, double value) const {
    const Statement& statement = *one.statement;
    for_each_point(statement.over, folded, point, [&] {
      if (statement.masked && !visible(point)) return;
      value = fold_values(*statement.fold, value, one.value.at(point));
    });
    return value;
  }

  bool visible(const Coordinates& point) const {
    const GuardAxes guard = *nest_.diagram->guard;
    return !nest_.mask->masks() || sees(*nest_.mask, nest_.size(guard.query), nest_.size(guard.key),
                                        point[index(guard.query)], point[index(guard.key)]);
  }

  void fold(const Ready& one, std::size_t tile) {
    const Statement& statement = *one.statement;
    ++visits_[tile][visited(tile)];
    before_[tile] = now_[tile];
    const Box folded = box(statement.over);
    const double unit = fold_unit(*statement.fold);
    each(tile, [&](const Coordinates& at) {
      Coordinates point = at;
      double value = before_[tile].at(at);
      if (statement.repair && value != unit) value *= one.repair.at(point);
      now_[tile].at(at) = total(one, folded, point, value);
    });
  }

  // The tile goes to memory when it is left: once for as long as it stays.
  void store(std::size_t tile) {
    const ArrayId id = *program_.tiles[tile].memory;
    each_in_memory(id, [&](double& there, const Coordinates& point) { there = now_[tile].at(point); });
    if (stored_[tile] == corner(tile)) return;
    stored_[tile] = corner(tile);
    out_.moved[id].stored += volume(axes_of(id));
  }

  void add(std::size_t tile, Accumulate by) {
    const ArrayId id = *program_.tiles[tile].memory;
    each_in_memory(id, [&](double& there, const Coordinates& point) { there += now_[tile].at(point); });
    const std::int64_t values = volume(axes_of(id));
    out_.moved[id].stored += values;
    if (by != Accumulate::reduction) out_.moved[id].loaded += values;
  }

  void initialise(std::size_t tile) {
    const ArrayId id = *program_.tiles[tile].memory;
    Values& there = memory_.at(name_of(id));
    std::fill(there.all.begin(), there.all.end(), fold_unit(*program_.tiles[tile].kind));
    out_.moved[id].stored += static_cast<std::int64_t>(there.all.size());
  }

  // The present tile in memory. Partial results have an axis there that the tile lacks.
  template <class Visit>
  void each_in_memory(ArrayId id, const Visit& visit) {
    Values& there = memory_.at(name_of(id));
    Coordinates point{};
    const Box range = box(axes_of(id));
    for_each_point(axes_of(id), range, point, [&] { visit(there.at(point), point); });
  }

  const TileProgram& program_;
  const Schedule& schedule_;
  const Nest& nest_;
  Memory& memory_;
  Execution out_;
  Coordinates sizes_{};
  LoopPosition at_;
  HeldValues held_;
  bool counting_ = false;
  std::vector<Values> now_, before_;  // by tile; of a running state also before the last fold
  std::vector<std::optional<Corner>> resident_, stored_;
  std::vector<std::map<Corner, std::int64_t>> visits_, total_visits_;  // of accumulators' tiles
  std::vector<std::set<Corner>> entered_;
};

}  // namespace

Execution interpret(const TileProgram& program, const Schedule& schedule, const Nest& nest, Memory& memory) {
  return Machine(program, schedule, nest, memory).run();
}

}  // namespace tilescope
