#include "program/construct/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "expr/evaluate.h"
#include "program/construct/builder.h"
#include "program/construct/merges.h"
#include "program/construct/share.h"
#include "schedule/folds.h"

namespace tilescope {
namespace {

using Kind = Statement::Kind;

// Names have the values of a map; what has no value is NaN.
class EmptyValues : public Lookup {
 public:
  explicit EmptyValues(std::map<std::string, double> values) : values_(std::move(values)) {}
  double array(const std::string& name) const override {
    const auto known = values_.find(name);
    return known == values_.end() ? std::nan("") : known->second;
  }
  double index(const std::string&) const override { return std::nan(""); }
  double size(const std::string&) const override { return std::nan(""); }

 private:
  std::map<std::string, double> values_;
};

}  // namespace

TileProgramBuilder::TileProgramBuilder(const Schedule& schedule, const Primitives& primitives, int island)
    : schedule_(schedule),
      primitives_(primitives),
      island_(schedule.islands[static_cast<std::size_t>(island)]),
      inside_(primitives_of(primitives, island_)) {
  out_.name = island_.name, out_.island = island, out_.loops = island_.loops;
  while (out_.groups < static_cast<int>(island_.loops.size()) && loop(out_.groups).partition == Partition::group)
    ++out_.groups;
  levels_.before.resize(island_.loops.size() + 1), levels_.after.resize(island_.loops.size() + 1);
}

bool TileProgramBuilder::carries(const std::vector<AxisId>& axes, int i) const {
  const AxisId axis = loop(i).axis;
  const auto& of = schedule_.diagram.axes[index(axis)].chunks_of;
  return contains(axes, axis) || (of && contains(axes, *of));
}

TileProgram TileProgramBuilder::run() {
  for (std::size_t a = 0; a < schedule_.diagram.arrays.size(); ++a)
    if (const auto as = static_cast<ArrayId>(static_cast<int>(a)); schedule_.writes(island_, as))
      find_live(schedule_.how_stored(island_, as).result);
  for (std::size_t a = 0; a < schedule_.diagram.arrays.size(); ++a) {
    const auto as = static_cast<ArrayId>(static_cast<int>(a));
    if (schedule_.writes(island_, as)) result(schedule_.how_stored(island_, as));
  }
  for (const auto& [name, run] : running_)
    if (run.comes_back && !made(run.tile).memory)
      refuse(fmt::format("a loop comes back to {} before it is complete, and it is not stored", name));
  put_in_order();
  share_expressions(levels_, out_, primitives_, inside_);
  const SameVisits same = [this](int a, int b) { return a == b || same_visits(a, b); };
  for (const int number : loads_)
    place_load(levels_, out_, readers_of(number), number, level_of(made(number).axes), same);
  out_.body = nest(out_.groups - 1);
  for (int i = out_.groups - 1; i >= 0; --i) {
    Statement around{.kind = Kind::loop, .loop = i, .body = std::move(out_.body)};
    out_.body = {std::move(around)};
  }
  std::vector<Statement> all;
  for (int number = 0; number < static_cast<int>(out_.tiles.size()); ++number)
    if (made(number).zeroed) all.push_back({.kind = Kind::initialise, .tile = number});
  all.insert(all.end(), std::make_move_iterator(out_.body.begin()), std::make_move_iterator(out_.body.end()));
  out_.body = std::move(all);
  return std::move(out_);
}

std::vector<Statement> TileProgramBuilder::nest(int level) {
  std::vector<Statement> body = std::move(levels_.before[static_cast<std::size_t>(level + 1)]);
  if (level + 1 < loop_count()) body.push_back({.kind = Kind::loop, .loop = level + 1, .body = nest(level + 1)});
  auto& rest = levels_.after[static_cast<std::size_t>(level + 1)];
  body.insert(body.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  return body;
}

void TileProgramBuilder::put(const Place& place, Statement statement) {
  statement.last_of = place.last_of;
  auto& where = place.after ? levels_.after : levels_.before;
  where[static_cast<std::size_t>(place.level + 1)].push_back(std::move(statement));
}

int TileProgramBuilder::tile(const std::string& name, const std::vector<AxisId>& axes, std::optional<FoldKind> kind) {
  if (const int known = out_.find(name); known >= 0) return known;
  out_.tiles.push_back({.name = name, .axes = axes, .kind = kind});
  return static_cast<int>(out_.tiles.size()) - 1;
}

void TileProgramBuilder::belongs(int number, const Primitive& primitive) {
  order_[number] = static_cast<int>(&primitive - primitives_.list.data());
}

// Statements of a level run in the order of their primitives; a value is stored when it is complete.
void TileProgramBuilder::put_in_order() {
  const auto before = [&](const Statement& a, const Statement& b) { return order_[a.tile] < order_[b.tile]; };
  for (auto* list : {&levels_.before, &levels_.after})
    for (std::vector<Statement>& level : *list) {
      std::stable_sort(level.begin(), level.end(), before);
      finish_before_overwriting(level);
    }
  for (std::size_t outer = 0; outer < levels_.before.size(); ++outer) finish_after_loops_inside(outer);
}

// Of the statements from `first`, which finishes a tile, to `end`: puts what finishes it, stores it or follows from its
// finished value behind the others. The position of the first of these.
std::size_t TileProgramBuilder::finished_last(std::vector<Statement>& level, std::size_t first, std::size_t end) const {
  const int tile = level[first].tile;
  std::vector<int> later{tile};  // tiles that hold what follows from the finished value
  const auto stays = [&](const Statement& one) {
    if (one.tile == tile) return one.kind != Kind::finalise && one.kind != Kind::store;
    const auto used = [&](int number) { return one.value.uses(made(number).name); };
    if (one.kind == Kind::compute && std::any_of(later.begin(), later.end(), used)) later.push_back(one.tile);
    return !contains(later, one.tile);
  };
  const auto at = [&](std::size_t i) { return level.begin() + static_cast<std::ptrdiff_t>(i); };
  return static_cast<std::size_t>(std::stable_partition(at(first), at(end), stays) - level.begin());
}

// The same across levels: where loops inside finish another fold of the stream from the state, its own finished value
// comes after them.
void TileProgramBuilder::finish_after_loops_inside(std::size_t outer) {
  std::vector<Statement>&level = levels_.before[outer], &after = levels_.after[outer];
  const auto finishes_from = [&](const Statement& one, const ProgramTile& state) {
    return one.kind == Kind::finalise && made(one.tile).restarts_in == state.restarts_in && one.value.uses(state.name);
  };
  const auto inside = [&](const ProgramTile& state) {
    for (std::size_t i = outer + 1; i < levels_.before.size(); ++i)
      for (const auto* list : {&levels_.before[i], &levels_.after[i]})
        if (std::any_of(list->begin(), list->end(), [&](const Statement& one) { return finishes_from(one, state); }))
          return true;
    return false;
  };
  for (std::size_t i = level.size(); i-- > 0;) {
    if (level[i].kind != Kind::finalise || !inside(made(level[i].tile))) continue;
    const auto moved = level.begin() + static_cast<std::ptrdiff_t>(finished_last(level, i, level.size()));
    after.insert(after.begin(), std::make_move_iterator(moved), std::make_move_iterator(level.end()));
    level.erase(moved, level.end());
    i = std::min(i, level.size());
  }
}

// A fold may take or be finished from the state of another one: that state gives way to its own finished value, which
// is stored and used, only afterwards.
void TileProgramBuilder::finish_before_overwriting(std::vector<Statement>& level) const {
  for (std::size_t i = level.size(); i-- > 0;)  // the last one first: what it gave way to stays before it
    for (std::size_t j = level.size() - 1; j > i; --j) {
      if (level[i].kind != Kind::finalise) continue;
      const std::string& name = made(level[i].tile).name;
      const std::optional<Expression>& repair = level[j].repair;
      const bool folds =
          level[j].kind == Kind::fold && (level[j].value.uses(name + "'") || (repair && repair->uses(name + "'")));
      const bool finishes = level[j].kind == Kind::finalise && level[j].value.uses(name) &&
                            !level[i].value.uses(made(level[j].tile).name);
      if (!folds && !finishes) continue;
      finished_last(level, i, j + 1);
      break;
    }
}

int TileProgramBuilder::level_of(const std::vector<AxisId>& axes) const {
  int level = out_.groups - 1;
  for (int i = 0; i < loop_count(); ++i)
    if (carries(axes, i)) level = std::max(level, i);
  return level;
}

const Primitive* TileProgramBuilder::producer(ArrayId id) const {
  for (const int number : inside_)
    if (const Primitive& made = primitives_.list[static_cast<std::size_t>(number)]; made.output == id) return &made;
  return nullptr;
}

std::vector<int> TileProgramBuilder::cuts(const Primitive& fold) const {
  std::vector<int> found;
  for (int i = 0; i < loop_count(); ++i)
    if (fold.fold && fold.folds(loop(i).axis)) found.push_back(i);
  return found;
}

Place TileProgramBuilder::place_of(const std::string& what, int level, const std::vector<Place>& inputs) const {
  Place place;
  if (!join(inputs, level, place))
    refuse(fmt::format("{} needs a fold complete that ends outside the loop over {}", what,
                       schedule_.diagram.axes[index(loop(place.level).axis)].name));
  return place;
}

Place TileProgramBuilder::complete(ArrayId id) {
  if (const auto known = complete_.find(id); known != complete_.end()) return known->second;
  const Primitive* from = producer(id);
  Place place = !from ? loaded(id) : cuts(*from).empty() ? computed(*from) : folded(*from);
  complete_.insert_or_assign(id, place);
  return place;
}

Place TileProgramBuilder::loaded(ArrayId id) {
  const auto& source = array(id).alias_of;
  const int number = tile(id);
  if (source && schedule_.reads(island_, *source)) {
    made(number).view_of = tile(*source);
    if (level_of({array(*source).axes.back()}) >= out_.groups)
      refuse(fmt::format("{} is a view of {}, whose last axis is cut", array(id).name, array(*source).name));
    return complete(*source);
  }
  made(number).memory = id;
  loads_.push_back(number);
  return {.level = level_of(array(id).axes)};
}

Place TileProgramBuilder::computed(const Primitive& from) {
  std::vector<Place> inputs;
  for (const ArrayId input : from.inputs) inputs.push_back(complete(input));
  for (const ArrayId input : from.reads) inputs.push_back(complete(input));
  std::vector<AxisId> axes = primitives_.axes_of(from);
  for (const std::string& name : from.body.index_axes()) axes.push_back(*primitives_.diagram.find_axis(name));
  const Place place = place_of(array(from.output).name, level_of(axes), inputs);
  belongs(tile(from.output), from);
  put(place, {.kind = Kind::compute,
              .tile = tile(from.output),
              .value = from.body,
              .fold = from.fold,
              .over = from.folded,
              .masked = from.fold && masked(from.inputs)});
  return place;
}

bool TileProgramBuilder::masked(const std::vector<ArrayId>& inputs) const {
  const auto& guard = schedule_.diagram.guard;
  return guard && std::any_of(inputs.begin(), inputs.end(),
                              [&](ArrayId id) { return array(id).has(guard->query) && array(id).has(guard->key); });
}

void TileProgramBuilder::find_live(ArrayId id) {
  const Primitive* from = producer(id);
  if (!live_.insert(id).second || !from) return;
  for (const ArrayId input : from->inputs) find_live(input);
}

void TileProgramBuilder::result(const Stored& how) {
  const Primitive* made_by = producer(how.result);
  if (!made_by) refuse(fmt::format("{} is not computed here", array(how.result).name));
  if (how.by != Accumulate::rewriting) return added_up(how, *made_by);
  Place place = complete(how.result);
  const int number = tile(how.result);
  keep_in(number, how);
  if (const auto run = running_.find(array(how.result).name);
      run != running_.end() && (run->second.comes_back || run->second.late)) {
    place.level = std::max(place.level, run->second.update.level);
    place.last_of = run->second.update.last_of;  // at every visit
  }
  put(place, {.kind = Kind::store, .tile = number});
}

void TileProgramBuilder::keep_in(int number, const Stored& how) {
  made(number).memory = how.as, made(number).zeroed = how.zeroed;
  made(number).empty = empty_value(how.result);
}

double TileProgramBuilder::empty_value(ArrayId id) const {
  const Primitive* primitive = producer(id);
  if (const int other = primitives_.producer(id); !primitive && other >= 0)  // another kernel's
    primitive = &primitives_.list[static_cast<std::size_t>(other)];
  if (!primitive) return std::nan("");
  if (primitive->fold && masked(primitive->inputs)) return fold_unit(*primitive->fold);
  std::map<std::string, double> values;
  for (const ArrayId input : primitive->inputs) values.emplace(array(input).name, empty_value(input));
  const double value = evaluate(primitive->body, EmptyValues(std::move(values)));
  const bool of_any_number = !primitive->fold || *primitive->fold == FoldKind::max || *primitive->fold == FoldKind::min;
  return of_any_number || (value == 0 && *primitive->fold == FoldKind::sum) ? value : std::nan("");
}

std::vector<int> TileProgramBuilder::readers_of(int number) const {
  const auto id = made(number).memory;
  std::vector<int> readers;
  for (const int inside : inside_) {
    const Primitive& from = primitives_.list[static_cast<std::size_t>(inside)];
    if (id && contains(from.reads, *id))
      if (const int tile = out_.find(array(from.output).name); tile >= 0) readers.push_back(tile);
  }
  return readers;
}

std::variant<TileProgram, NoProgram> build_program(const Schedule& schedule, const Primitives& primitives, int island) {
  try {
    const Primitives merged = with_merges(schedule, primitives, island);
    return TileProgramBuilder(schedule, merged, island).run();
  } catch (const NoProgram& refusal) {
    return refusal;
  }
}

}  // namespace tilescope
