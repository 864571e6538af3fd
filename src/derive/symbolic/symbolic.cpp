#include "derive/symbolic/symbolic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "base/contains.h"
#include "derive/symbolic/columns.h"
#include "schedule/folds.h"

namespace tilescope {
namespace {

// Names of files and primitives ("softmax: sum") may have any character. Symbols escape some: "softmax_3a__20_sum".
std::string symbol_name(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || c == '_' || c == '.') text += c;
    else text += fmt::format("_{:x}_", byte);
  }
  return text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) ? "_" + text : text;
}

class Builder {
 public:
  Builder(const Schedule& schedule, const SymbolicOptions& options)
      : schedule_(schedule), diagram_(schedule.diagram), primitives_(expand(schedule.diagram)), options_(options) {
    for (const Operator& op : diagram_.operators)
      points_of_.push_back({"points of " + op.name, diagram_.axes_of(op), ArrayRole::interior, {}});
  }

  SymbolicSchedule run() {
    for (number_ = 0; number_ < static_cast<int>(schedule_.islands.size()); ++number_) {
      island_ = &schedule_.islands[static_cast<std::size_t>(number_)];
      add_terms();
      for (const LiveColumn& column : columns_of(*island_, primitives_, options_.buffers)) add_column(column);
      for (const int op : island_->operators) out_.work.push_back({number_, op, visits(points_of(diagram_, op))});
    }
    return std::move(out_);
  }

 private:
  const Loop& loop(std::size_t i) const { return island_->loops[i]; }
  const Axis& axis(AxisId id) const { return diagram_.axes[index(id)]; }

  // Points of an operator are computed where an array with all of its axes would be moved.
  const Array& array_of(ArrayId id) const {
    const int op = operator_of_points(diagram_, id);
    return op < 0 ? diagram_.array(id) : points_of_[static_cast<std::size_t>(op)];
  }

  bool carries(ArrayId id, AxisId along) const {
    const Array& array = array_of(id);
    return array.has(along) || (axis(along).chunks_of && array.has(*axis(along).chunks_of));
  }

  SymbolId input(const std::string& name, SymbolSource source) {
    const SymbolId id = out_.symbols.input(symbol_name(name));
    if (out_.symbols[id].position == out_.inputs.size()) out_.inputs.push_back(source);
    return id;
  }
  SymbolId external(const std::string& name, const Polynomial& relaxed, SymbolSource source) {
    const SymbolId id = out_.symbols.external(symbol_name(name), relaxed);
    if (out_.symbols[id].position == out_.externals.size()) out_.externals.push_back(source);
    return id;
  }

  SymbolId tile_symbol(AxisId of, const TileSize& tile) {
    const std::string name = tile.parameter >= 0 ? schedule_.parameters[static_cast<std::size_t>(tile.parameter)].name
                                                 : std::to_string(tile.literal);
    return input(tile.parts ? fmt::format("chunk.{}", axis(of).name) : fmt::format("tile.{}", name),
                 {.kind = SymbolSource::Kind::tile, .axis = of, .tile = tile});
  }

  SymbolId size(AxisId id) {
    if (!axis(id).chunks_of) return input(axis(id).size, {.kind = SymbolSource::Kind::size, .axis = id});
    const Chunking& cut = *std::find_if(schedule_.chunks.begin(), schedule_.chunks.end(),
                                        [&](const Chunking& c) { return c.axis == id; });
    return out_.symbols.ceil_ratio(size(cut.of), tile_symbol(cut.of, cut.length));
  }

  static bool one(const TileSize& tile) { return tile.parameter < 0 && !tile.parts && tile.literal == 1; }

  // Position of the loop over the chunks that this loop's tiles lie in.
  std::optional<std::size_t> chunk_loop(std::size_t inner) const {
    for (std::size_t i = 0; i < inner; ++i)
      if (axis(loop(i).axis).chunks_of == loop(inner).axis) return i;
    return std::nullopt;
  }

  SymbolId trips(std::size_t i) {
    const SymbolId length = chunk_loop(i) ? tile_symbol(loop(i).axis, chunk_length(loop(i).axis)) : size(loop(i).axis);
    return one(loop(i).tile) ? length : out_.symbols.ceil_ratio(length, tile_symbol(loop(i).axis, loop(i).tile));
  }

  const TileSize& chunk_length(AxisId of) const {
    return std::find_if(schedule_.chunks.begin(), schedule_.chunks.end(), [&](const Chunking& c) { return c.of == of; })
        ->length;
  }

  // Loops over the guarded pair, when the island sums over live tiles only.
  std::optional<std::size_t> loop_over(AxisId of) const {
    for (std::size_t i = 0; i < island_->loops.size(); ++i)
      if (loop(i).axis == of) return i;
    return std::nullopt;
  }
  bool guarded() const {
    return options_.masked && island_->skips_masked_tiles && diagram_.guard && loop_over(diagram_.guard->query) &&
           loop_over(diagram_.guard->key) && !chunk_loop(*loop_over(diagram_.guard->query));
  }
  bool in_pair(std::size_t i) const {
    if (!guarded()) return false;
    const AxisId key = diagram_.guard->key;
    return loop(i).axis == diagram_.guard->query || loop(i).axis == key ||
           (axis(loop(i).axis).chunks_of == key && chunk_loop(*loop_over(key)));
  }

  // Number of times that the loop repeats an array without its axis: its trips, if it or a loop inside it moves the
  // array's tile.
  Polynomial repeats(std::size_t i, ArrayId id) {
    if (awaits(i, id)) return 1;
    if (loop(i).partition == Partition::group) return Polynomial(trips(i));
    std::vector<SymbolId> movers;
    for (std::size_t j = i + 1; j < island_->loops.size(); ++j)
      if (loop(j).partition == Partition::group || carries(id, loop(j).axis)) movers.push_back(trips(j));
    if (movers.empty()) return Polynomial(1);
    if (chunk_loop(i)) return Polynomial(trips(i));  // a part that is whole: see visits()
    return Polynomial(out_.symbols.gate(trips(i), movers));
  }

  // Whether the array is touched only after the fold that the loop streams is complete.
  bool awaits(std::size_t i, ArrayId id) {
    return loop(i).partition == Partition::stream && !chunk_loop(i) && !carries(id, loop(i).axis) &&
           contains(awaited(id), loop(i).axis);
  }
  // The array of the primitives that is stored under this array's name, or this array; of points those of the result.
  std::optional<ArrayId> made_as(ArrayId id) const {
    if (const int op = operator_of_points(diagram_, id); op >= 0)
      return made_as(diagram_.operators[static_cast<std::size_t>(op)].outputs.front());
    return primitives_.diagram.find_array(diagram_.array(schedule_.how_stored(*island_, id).result).name);
  }
  const std::vector<AxisId>& awaited(ArrayId id) {
    const auto [known, fresh] = awaited_.try_emplace({number_, id});
    if (fresh)
      if (const auto inner = made_as(id)) known->second = awaited_axes(primitives_, *island_, *inner);
    return known->second;
  }

  // Values of the array moved in one direction: |A| times the trips of the loops that repeat it.
  Polynomial visits(ArrayId id) {
    const Array& array = array_of(id);
    Polynomial count = 1;
    for (const AxisId along : array.axes)
      if (!guarded() || !of_pair(along)) count = count * Polynomial(size(along));
    for (std::size_t i = 0; i < island_->loops.size(); ++i)
      if (!in_pair(i) && !carries(id, loop(i).axis)) count = count * repeats(i, id);
    const bool keys_split = guarded() && chunk_loop(*loop_over(diagram_.guard->key)).has_value();
    const bool awkward = restarts_pair(id) || (!keys_split && counts_parts(id));
    if (guarded() && !awkward) return count * Polynomial(live(id)) - stationary(id);
    if (guarded()) count = count * Polynomial(live(id));
    else if (!counts_parts(id)) return count;
    return Polynomial(
        external(fmt::format("moved.{}.{}", island_->name, array.name), relax(count, out_.symbols),
                 {.kind = SymbolSource::Kind::moved, .island = number_, .array = id, .awaited = awaited(id)}));
  }

  // Whether a stream around the guarded pair comes back to the array's tile, if the pair has a single live one.
  bool restarts_pair(ArrayId id) {
    for (std::size_t i = 0; i < island_->loops.size(); ++i) {
      if (loop(i).partition == Partition::group || in_pair(i) || carries(id, loop(i).axis)) continue;
      for (std::size_t j = i + 1; j < island_->loops.size(); ++j)
        if (in_pair(j) && carries(id, loop(j).axis)) return true;
    }
    return false;
  }

  // Whether the tiles within the parts of a split repeat the array, or decide whether a stream outside them does. The
  // last part may have fewer tiles than the others, which a product of trip counts cannot express.
  bool counts_parts(ArrayId id) const {
    for (std::size_t i = 0; i < island_->loops.size(); ++i) {
      if (!chunk_loop(i)) continue;
      if (!carries(id, loop(i).axis)) return any_inside(i, id);
      for (std::size_t j = 0; j < i; ++j)
        if (loop(j).partition == Partition::stream && !carries(id, loop(j).axis)) return true;
    }
    return false;
  }

  bool of_pair(AxisId along) const {
    const auto i = loop_over(along);
    return along == diagram_.guard->query || along == diagram_.guard->key || (i && in_pair(*i));
  }

  // Relaxed counts use only the live share of the score matrix of a mask: see relaxed_live().
  SymbolId live(ArrayId id) {
    const Array& array = array_of(id);
    const GuardAxes guard = *diagram_.guard;
    const bool rows = array.has(guard.query), keys = array.has(guard.key);
    const char* what = rows && keys ? "rows*keys" : rows ? "rows" : keys ? "keys" : "tiles";
    const auto chunk = chunk_loop(*loop_over(guard.key));
    const bool by_chunk = chunk && !keys && !any_inside(*chunk, id);
    return external(fmt::format("live_{}.{}.{}{}", keys && rows ? "pairs" : what, island_->name, array.name,
                                by_chunk ? ".chunks" : ""),
                    relaxed_live_of(id, rows, keys, by_chunk),
                    {.kind = SymbolSource::Kind::live, .island = number_, .array = id, .awaited = awaited(id)});
  }
  // Whether this loop or one inside it moves the array's tile.
  bool moves_from(std::size_t i, ArrayId id) {
    return !awaits(i, id) && (loop(i).partition == Partition::group || carries(id, loop(i).axis) || any_inside(i, id));
  }
  bool any_inside(std::size_t i, ArrayId id) const {
    for (std::size_t j = i + 1; j < island_->loops.size(); ++j)
      if (loop(j).partition == Partition::group || carries(id, loop(j).axis)) return true;
    return false;
  }

  // A guarded loop that does not move the array visits all of it or none of it.
  Polynomial relaxed_live_of(ArrayId id, bool rows, bool keys, bool by_chunk) {
    const GuardAxes guard = *diagram_.guard;
    const bool by_query = moves_from(*loop_over(guard.query), id),
               by_key = moves_from(*loop_over(guard.key), id) || by_chunk;
    if (by_query && by_key) return relaxed_live(rows, keys, by_chunk);
    Polynomial count = 1;
    const auto factor = [&](AxisId along, bool moves, bool has) {
      if (has) count = count * Polynomial(seen(along));
      else if (moves) count = count * relax(Polynomial(trips(*loop_over(along))), out_.symbols);
    };
    factor(guard.query, by_query, rows), factor(guard.key, by_key, keys);
    return count;
  }

  // The rows that see a key, the keys that are seen; another axis whole.
  SymbolId seen(AxisId along) {
    const GuardAxes guard = *diagram_.guard;
    if (along == guard.query && !options_.sees_all_rows)
      return input("seen_rows", {.kind = SymbolSource::Kind::seen_rows});
    if (along == guard.key && !options_.sees_all_keys)
      return input("seen_keys", {.kind = SymbolSource::Kind::seen_keys});
    return size(along);
  }

  // The live share of the score matrix in tiles, plus half a tile for each end that the mask's edge cuts.
  Polynomial relaxed_live(bool rows, bool keys, bool by_chunk) {
    const GuardAxes guard = *diagram_.guard;
    const SymbolId share = input("live_share", {.kind = SymbolSource::Kind::live_share});
    const SymbolId edges = input("mask_edges", {.kind = SymbolSource::Kind::mask_edges});
    const auto tile = [&](AxisId along) -> Polynomial {
      const bool chunks = along == guard.key && by_chunk;
      const TileSize& of = chunks ? chunk_length(along) : loop(*loop_over(along)).tile;
      return one(of) ? Polynomial(1) : Polynomial(tile_symbol(along, of));
    };
    const Polynomial query = tile(guard.query), key = tile(guard.key),
                     half = Polynomial(Rational(1, 2)) * Polynomial(edges) * Polynomial(size(guard.query));
    const Polynomial area = Polynomial(share) * Polynomial(size(guard.query)) * Polynomial(size(guard.key));
    const auto over = [](const Polynomial& count, const Polynomial& tiles) { return count / tiles.terms().front(); };
    if (rows && keys) return area + half * (query + key);
    if (keys) return over(area, query) + half;
    if (rows) return over(area, key) + half;
    return over(over(area, query), key) + over(half, key) + over(half, query);
  }

  Polynomial stationary(ArrayId id) {
    const std::size_t query = *loop_over(diagram_.guard->query), key = *loop_over(diagram_.guard->key);
    const std::size_t outer = std::min(query, key), inner = std::max(query, key);
    if (!carries(id, loop(inner).axis)) return 0;
    bool between = false;
    for (std::size_t i = outer + 1; i < inner; ++i) between = between || !carries(id, loop(i).axis);
    if (!between && (loop(outer).partition == Partition::group || carries(id, loop(outer).axis))) return 0;
    return Polynomial(
        external(fmt::format("stationary.{}.{}", island_->name, array_of(id).name), 0,
                 {.kind = SymbolSource::Kind::stationary, .island = number_, .array = id, .awaited = awaited(id)}));
  }

  Polynomial whole(ArrayId id) {
    Polynomial count = 1;
    for (const AxisId along : array_of(id).axes) count = count * Polynomial(size(along));
    return count;
  }

  // Distinct values that the island visits; rows without a visible key are never visited, nor are keys of no row.
  Polynomial distinct(ArrayId id) {
    const Array& array = array_of(id);
    if (!guarded() || (!array.has(diagram_.guard->query) && !array.has(diagram_.guard->key))) return whole(id);
    return Polynomial(external(fmt::format("live_values.{}.{}", island_->name, array.name), relaxed_distinct(id),
                               {.kind = SymbolSource::Kind::distinct, .island = number_, .array = id}));
  }

  // Scores outside the live tiles are never visited, so only the live share of these arrays is distinct. The values of
  // edge tiles outside the mask are not counted: this count is subtracted, and must not depend on tile sizes.
  Polynomial relaxed_distinct(ArrayId id) {
    const GuardAxes guard = *diagram_.guard;
    const Array& array = array_of(id);
    const bool pairs = array.has(guard.query) && array.has(guard.key);
    const bool both = pairs && moves_from(*loop_over(guard.query), id) && moves_from(*loop_over(guard.key), id);
    Polynomial count = both ? Polynomial(input("live_share", {.kind = SymbolSource::Kind::live_share})) : Polynomial(1);
    for (const AxisId along : array.axes) count = count * Polynomial(pairs ? size(along) : seen(along));
    return count;
  }

  void add_terms() {
    for (std::size_t a = 0; a < diagram_.arrays.size(); ++a) {
      const auto id = static_cast<ArrayId>(static_cast<int>(a));
      if (schedule_.reads(*island_, id)) add_term(id, false, visits(id));
      if (!schedule_.writes(*island_, id)) continue;
      const Stored how = schedule_.how_stored(*island_, id);
      add_term(id, true, how.zeroed ? visits(id) + whole(id) : visits(id));
      if (!comes_back_at_all(id)) continue;
      if (!how.zeroed) add_term(id, false, visits(id) - distinct(id));
      else if (how.by != Accumulate::reduction) add_term(id, false, visits(id));
    }
  }

  // Whether a visit adds to the result of earlier visits: the nest revisits the tile before its folds are complete. A
  // loop that only recomputes the array stores it again and loads nothing.
  bool comes_back_at_all(ArrayId id) {
    const Stored how = schedule_.how_stored(*island_, id);
    if (how.zeroed) return true;
    const auto inner = made_as(id);
    const int producer = inner ? primitives_.producer(*inner) : -1;
    if (producer < 0) return repeats_at_all(id);
    const auto& folded = primitives_.list[static_cast<std::size_t>(producer)].folded;
    return std::any_of(
               folded.begin(), folded.end(),
               [&](AxisId along) { return comes_back(diagram_, *island_, primitives_.array(*inner), along); }) &&
           repeats_at_all(id);
  }
  bool repeats_at_all(ArrayId id) {
    for (std::size_t i = 0; i < island_->loops.size(); ++i)
      if (!carries(id, loop(i).axis) && moves_from(i, id)) return true;
    return false;
  }

  void add_term(ArrayId id, bool store, Polynomial values) {
    if (!values.is_zero()) out_.terms.push_back({number_, id, store, std::move(values)});
  }

  void add_column(const LiveColumn& column) {
    SymbolicColumn out{.island = number_, .at = column.at};
    for (const Live& live : column.live) {
      Polynomial tile = live.copies;
      for (const AxisId along : primitives_.array(live.array).axes) tile = tile * tile_extent(along);
      out.values += tile;
      out.tiles.push_back(tile);
      out.live.push_back(primitives_.array(live.array).name);
    }
    out_.columns.push_back(std::move(out));
  }

  Polynomial tile_extent(AxisId along) {
    std::optional<TileSize> tile;
    for (const Loop& l : island_->loops)
      if (l.axis == along) tile = l.tile;  // the innermost
    if (!tile) return Polynomial(size(along));
    return one(*tile) ? Polynomial(1) : Polynomial(tile_symbol(along, *tile));
  }

  const Schedule& schedule_;
  const Diagram& diagram_;
  Primitives primitives_;
  SymbolicOptions options_;
  SymbolicSchedule out_;
  const Island* island_ = nullptr;
  int number_ = 0;
  std::map<std::pair<int, ArrayId>, std::vector<AxisId>> awaited_;
  std::vector<Array> points_of_;  // by operator
};

}  // namespace

SymbolicSchedule symbolic(const Schedule& schedule, const SymbolicOptions& options) {
  return Builder(schedule, options).run();
}

}  // namespace tilescope
