#include "kernel/describe/launch/launch_sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "kernel/describe/launch/launch_reading.h"
#include "kernel/describe/launch/launch_words.h"

namespace tilescope {
namespace {

std::int64_t parts(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> found;
  for (std::int64_t i = 1; i * i <= number; ++i)
    if (number % i == 0) {
      found.push_back(i);
      if (i * i != number) found.push_back(number / i);
    }
  return found;
}

// First and last step of a tile of queries; nothing for a mask under which it has none.
struct StepRange {
  std::int64_t first = 0, count = 0;
};
StepRange steps_of(const ReadMask& mask, const TileSizes& t, std::int64_t tile, std::int64_t q_len,
                   std::int64_t kv_len) {
  std::int64_t end = kv_len, begin = 0;
  const std::int64_t shift = mask.from_end ? kv_len - q_len : 0;
  const std::int64_t first_row = tile * t.tile_q, rows_end = std::min(q_len, first_row + t.tile_q);
  if (mask.kind != ReadMask::Kind::none)
    end = std::min(kv_len, (mask.whole_rows ? first_row + t.tile_q : rows_end) + shift);
  if (mask.kind == ReadMask::Kind::window) begin = std::max<std::int64_t>(0, first_row + shift - mask.window + 1);
  const std::int64_t first = begin / t.tile_kv;
  return {first, std::max<std::int64_t>(parts(std::max<std::int64_t>(end, 0), t.tile_kv) - first, 0)};
}

class Search {
 public:
  // `least_steps`: a block loads so many tiles of keys ahead, even where a mask leaves it fewer.
  Search(const LaunchEvidence& evidence, const TileSizes& tile, const ReadLaunch& launch, std::int64_t least_steps,
         const std::optional<Workload>& known)
      : evidence_(evidence),
        tile_(tile),
        launch_(launch),
        least_steps_(least_steps),
        candidates_(candidate_lengths(evidence)) {
    if (!known) return;
    std::set<std::int64_t> all(candidates_.begin(), candidates_.end());
    all.insert({known->batch, known->heads_q, known->heads_kv, known->q_len, known->kv_len});
    candidates_.assign(all.begin(), all.end());
  }

  std::vector<SizeReading> readings() {
    const auto& grid = launch_.grid;
    const std::int64_t blocks = grid[0] * grid[1] * grid[2];
    std::set<std::int64_t> q_tiles;
    for (const std::int64_t length : candidates_) q_tiles.insert(parts(length, tile_.tile_q));
    for (const std::int64_t divisor : divisors(blocks)) q_tiles.insert(divisor);
    for (const std::int64_t tiles : q_tiles) {
      if (!launch_.persistent && blocks % tiles == 0) add_grids(tiles, blocks / tiles);
      if (launch_.persistent) add_persistent(tiles);
    }
    return std::move(found_);
  }

 private:
  void add_grids(std::int64_t q_tiles, std::int64_t rest) {
    for (const std::int64_t splits : divisors(rest))
      for (const std::int64_t heads : divisors(rest / splits))
        add_orders({q_tiles, heads, rest / splits / heads, splits});
  }

  // Tiles that the blocks take in turn: their number follows from how many each block takes.
  void add_persistent(std::int64_t q_tiles) {
    const std::int64_t blocks = launch_.grid[0] * launch_.grid[1] * launch_.grid[2];
    const auto fits = [&](std::int64_t all) {
      // A block that claims a tile compares its place with their number.
      if (launch_.claims) return all >= blocks && names(all);
      return std::all_of(launch_.tiles_of_block.begin(), launch_.tiles_of_block.end(),
                         [&](const auto& block) { return parts(all - block.first, blocks) == block.second; });
    };
    for (const std::int64_t heads : candidates_)
      for (const std::int64_t batch : candidates_)
        if (heads * batch < (1 << 20) && fits(q_tiles * heads * batch)) add_orders({q_tiles, heads, batch, 1});
  }

  bool names(std::int64_t number) const {
    return std::binary_search(evidence_.words.begin(), evidence_.words.end(), number);
  }

  void add_orders(const std::array<std::int64_t, grid_axes>& sizes) {
    GridReading reading{.sizes = sizes};
    std::sort(reading.order.begin(), reading.order.end());
    std::set<std::vector<GridAxis>> tried;
    do {
      std::vector<GridAxis> order;
      for (const GridAxis axis : reading.order)
        if (reading.size(axis) > 1) order.push_back(axis);
      if (!tried.insert(order).second) continue;
      if (!launch_.persistent && !fits_grid(reading, launch_.grid)) continue;
      for (const std::int64_t group : divisors(reading.size(GridAxis::heads)))
        for (const bool falls : {false, true}) {
          if (falls && reading.size(GridAxis::q) == 1) continue;
          reading.group = group, reading.q_falls = falls;
          add_lengths(reading);
        }
    } while (std::next_permutation(reading.order.begin(), reading.order.end()));
  }

  void add_lengths(const GridReading& reading) {
    const std::int64_t q_tiles = reading.size(GridAxis::q), splits = reading.size(GridAxis::splits);
    std::vector<std::int64_t> q_lengths, kv_lengths;
    for (const std::int64_t length : candidates_)
      if (parts(length, tile_.tile_q) == q_tiles) q_lengths.push_back(length);
    for (const std::int64_t length : candidates_) {
      const std::int64_t steps = parts(length, tile_.tile_kv);
      if (splits == 1 ? steps == launch_.most_steps : parts(steps, splits) == launch_.most_steps)
        kv_lengths.push_back(length);
    }
    // No number of the launch or of the code cuts the last tile: the tiles are whole.
    const bool whole_tiles = !names_lengths(evidence_);
    if (q_lengths.empty() && whole_tiles) q_lengths.push_back(q_tiles * tile_.tile_q);
    if (kv_lengths.empty() && whole_tiles && splits == 1) kv_lengths.push_back(launch_.most_steps * tile_.tile_kv);
    if (q_lengths.empty() || kv_lengths.empty()) return;
    const auto whole = strides_of(launch_, reading, {}, launch_.most_steps);
    if (whole && whole->query_tile.value_or(1) < 0) return;  // the other direction
    for (const std::int64_t q_len : q_lengths)
      for (const std::int64_t kv_len : kv_lengths) add_masks(reading, whole, q_len, kv_len);
  }

  void add_masks(const GridReading& reading, const std::optional<ReadStrides>& whole, std::int64_t q_len,
                 std::int64_t kv_len) {
    const bool split = reading.size(GridAxis::splits) > 1;
    if (whole && (split || has_steps(reading, {}, q_len, kv_len))) keep(reading, *whole, {}, q_len, kv_len);
    if (split) return;
    for (ReadMask mask :
         {ReadMask{.kind = ReadMask::Kind::causal}, ReadMask{.kind = ReadMask::Kind::causal, .from_end = true}})
      for (const bool rows : {false, true}) {
        mask.whole_rows = rows;
        if (whole && has_steps(reading, mask, q_len, kv_len)) return keep(reading, *whole, mask, q_len, kv_len);
      }
    if (whole) return;  // a window moves the first key
    for (const std::int64_t window : candidates_) {
      const ReadMask mask{.kind = ReadMask::Kind::window, .window = window, .from_end = true};
      if (window >= kv_len || !has_steps(reading, mask, q_len, kv_len)) continue;
      std::vector<std::int64_t> starts;
      for (std::int64_t tile = 0; tile < reading.size(GridAxis::q); ++tile)
        starts.push_back(steps_of(mask, tile_, tile, q_len, kv_len).first);
      if (const auto strides = strides_of(launch_, reading, starts, 0)) keep(reading, *strides, mask, q_len, kv_len);
    }
  }

  bool has_steps(const GridReading& reading, const ReadMask& mask, std::int64_t q_len, std::int64_t kv_len) const {
    return std::all_of(launch_.tiles.begin(), launch_.tiles.end(), [&](const ReadTile& tile) {
      const std::int64_t q = reading.indices_of(tile.linear)[0];
      const std::int64_t steps = steps_of(mask, tile_, q, q_len, kv_len).count;
      return std::max(steps, std::min(least_steps_, parts(kv_len, tile_.tile_kv))) == tile.key_steps;
    });
  }

  void keep(const GridReading& reading, const ReadStrides& strides, const ReadMask& mask, std::int64_t q_len,
            std::int64_t kv_len) {
    SizeReading size{.grid = reading, .strides = strides, .mask = mask, .q_len = q_len, .kv_len = kv_len};
    if (strides.query_tile.value_or(1) < 0 || !possible(size, tile_, launch_.key_step)) return;
    // Rows of one tile may be those of several heads that share keys.
    const bool may_pack = reading.size(GridAxis::q) == 1 && reading.group == 1;
    for (const std::int64_t packed : may_pack ? divisors(q_len) : std::vector<std::int64_t>{1}) {
      size.packed = packed, size.q_len = q_len / packed;
      size.explained = explained(size, tile_, launch_.key_step, evidence_);
      found_.push_back(size);
    }
  }

  const LaunchEvidence& evidence_;
  const TileSizes& tile_;
  const ReadLaunch& launch_;
  std::int64_t least_steps_;
  std::vector<std::int64_t> candidates_;
  std::vector<SizeReading> found_;
};

std::string mask_name(const ReadMask& mask, std::int64_t q_len) {
  if (mask.kind == ReadMask::Kind::causal && q_len == 1) return "none";  // the last query sees all keys
  return mask.kind == ReadMask::Kind::none     ? "none"
         : mask.kind == ReadMask::Kind::causal ? "causal"
                                               : fmt::format("window:{}", mask.window);
}

std::string order_name(const GridReading& reading) {
  constexpr const char* names[] = {"q", "heads", "batch", "splits"};
  std::string text;
  for (const GridAxis axis : reading.order)
    if (axis != GridAxis::splits || reading.size(axis) > 1)
      text += (text.empty() ? "" : ", ") + std::string(names[static_cast<std::size_t>(axis)]);
  return text;
}

// What all readings say alike; where they differ, a line with the candidates.
template <class Value, class Get>
std::optional<Value> common(const std::vector<SizeReading>& readings, const char* name, Get get,
                            std::vector<std::string>& unknown) {
  std::set<Value> values;
  for (const SizeReading& reading : readings) values.insert(get(reading));
  if (values.size() == 1) return *values.begin();
  unknown.push_back(fmt::format("{}: {}: the launch fits each of them", name, fmt::join(values, " or ")));
  return std::nullopt;
}

// Whether readings differ at most in how one index of the grid is divided into entries and heads.
bool same_but_entries(const SizeReading& a, const SizeReading& b) {
  const auto rest = [](const SizeReading& r) {
    const bool apart = r.grid.size(GridAxis::splits) > 1;
    return std::tuple(r.grid.size(GridAxis::batch) * r.heads_q(), r.grid.size(GridAxis::batch) * r.heads_kv(), r.q_len,
                      r.kv_len, mask_name(r.mask, r.q_len), r.grid.size(GridAxis::splits),
                      apart ? order_name(r.grid) : "");
  };
  return rest(a) == rest(b);
}

// How the arrays lie in memory, by the distance of a head's keys, heads and entries; empty: its rows lie densely and in
// whole sectors, or in no way that a descriptor can say.
std::string layout_of(const SizeReading& r, const TileSizes& t, std::int64_t key_step) {
  const std::int64_t row = t.head_dim * t.element_bytes, step = key_step / t.tile_kv, heads = r.heads_kv();
  const std::int64_t token = row * heads, entries = r.grid.size(GridAxis::batch);
  constexpr std::int64_t sector = 32;  // dense rows matter where they begin in the middle of one
  if (step == row) return row % sector != 0 ? "batch, heads, length, dim" : "";
  if (r.strides.key_head.value_or(row) != row) return "";
  const std::int64_t all = row * r.heads_q() + token + t.v_head_dim * t.element_bytes * heads;
  const std::int64_t whole = step * r.kv_len;
  if (step == token && r.strides.key_batch.value_or(whole) == whole) return "batch, length, heads, dim";
  if (step == all && r.strides.key_batch.value_or(whole) == whole) return "batch, length, arrays, heads, dim";
  if (step == token * entries && r.strides.key_batch == token) return "length, batch, heads, dim";
  return "";
}

// That of all readings.
std::string common_layout(const std::vector<SizeReading>& readings, const TileSizes& tile, std::int64_t key_step) {
  const std::string layout = layout_of(readings.front(), tile, key_step);
  const bool same = std::all_of(readings.begin(), readings.end(),
                                [&](const SizeReading& r) { return layout_of(r, tile, key_step) == layout; });
  return same ? layout : "";
}

bool has_sizes(const SizeReading& r, const Workload& w) {
  return r.grid.size(GridAxis::batch) == w.batch && r.heads_q() == w.heads_q && r.heads_kv() == w.heads_kv &&
         r.q_len == w.q_len && r.kv_len == w.kv_len;
}

// Keeps the readings that explain the most. One that divides an index of the grid into entries and heads stays alone if
// a parameter is the stride of its entries; small numbers are equal by chance.
void keep_best(std::vector<SizeReading>& readings, const LaunchEvidence& evidence, const TileSizes& tile) {
  int most = 0;
  for (const SizeReading& reading : readings) most = std::max(most, reading.explained);
  const auto keeps = [&](const SizeReading& r) {
    if (r.explained == most) return true;
    return r.grid.size(GridAxis::batch) == 1 &&
           std::any_of(readings.begin(), readings.end(), [&](const SizeReading& best) {
             return best.explained == most && same_but_entries(r, best) && !names_entries(best, tile, evidence);
           });
  };
  std::vector<SizeReading> kept;
  std::copy_if(readings.begin(), readings.end(), std::back_inserter(kept), keeps);
  readings = std::move(kept);
}

// Where readings differ only in how one index of the grid is divided into entries and heads, that index counts heads:
// the bytes and operations are the same.
void fold_entries(std::vector<SizeReading>& readings, LaunchSizes& sizes) {
  const bool differ = std::any_of(readings.begin(), readings.end(),
                                  [&](const SizeReading& r) { return r.heads_q() != readings.front().heads_q(); });
  if (!differ || !std::all_of(readings.begin(), readings.end(),
                              [&](const SizeReading& r) { return same_but_entries(r, readings.front()); }))
    return;
  readings.resize(1);
  GridReading& grid = readings.front().grid;
  grid.sizes[static_cast<std::size_t>(GridAxis::heads)] *= grid.size(GridAxis::batch);
  grid.sizes[static_cast<std::size_t>(GridAxis::batch)] = 1;
  sizes.folded = true;
}

}  // namespace

LaunchSizes launch_sizes(const LaunchEvidence& evidence, const TileSizes& tile, const std::optional<Workload>& known) {
  LaunchSizes sizes;
  const auto launch = read_launch(evidence);
  if (!launch) {
    sizes.unknown.push_back(
        evidence.stopped.empty()
            ? "sizes: no thread reads an array step by step at addresses that follow from the parameters"
            : "sizes: the code of a thread cannot be followed to its end: " + evidence.stopped);
    return sizes;
  }
  sizes.falling = launch->falling;
  // The first tiles of blocks that claim more show the order of tiles, not their number.
  if (launch->idle || (evidence.guesses > 0 && !(launch->claims && known))) {
    sizes.unknown.emplace_back("sizes: integers in memory decide which keys blocks read");
    return sizes;
  }
  std::vector<SizeReading> readings = Search(evidence, tile, *launch, 0, known).readings();
  if (readings.empty() && tile.stages > 1) readings = Search(evidence, tile, *launch, tile.stages, known).readings();
  if (known) std::erase_if(readings, [&](const SizeReading& r) { return !has_sizes(r, *known); });
  keep_best(readings, evidence, tile);
  sizes.readings = static_cast<std::int64_t>(readings.size());
  if (readings.empty()) {
    sizes.unknown.push_back(
        fmt::format("sizes: in no way are the grid of {} x {} x {} and the bytes that blocks read those "
                    "of tiles of {} queries and {} keys",
                    evidence.grid[0], evidence.grid[1], evidence.grid[2], tile.tile_q, tile.tile_kv));
    return sizes;
  }
  sizes.layout = common_layout(readings, tile, launch->key_step);
  fold_entries(readings, sizes);
  sizes.q_falling = std::all_of(readings.begin(), readings.end(), [](const SizeReading& r) { return r.grid.q_falls; });
  auto& unknown = sizes.unknown;
  using R = const SizeReading&;
  sizes.batch = common<std::int64_t>(
      readings, "batch", [](R r) { return r.grid.size(GridAxis::batch); }, unknown);
  sizes.heads_q = common<std::int64_t>(
      readings, "heads_q", [](R r) { return r.heads_q(); }, unknown);
  sizes.heads_kv = common<std::int64_t>(
      readings, "heads_kv", [](R r) { return r.heads_kv(); }, unknown);
  sizes.q_len = common<std::int64_t>(
      readings, "q_len", [](R r) { return r.q_len; }, unknown);
  sizes.kv_len = common<std::int64_t>(
      readings, "kv_len", [](R r) { return r.kv_len; }, unknown);
  sizes.splits = common<std::int64_t>(
      readings, "splits", [](R r) { return r.grid.size(GridAxis::splits); }, unknown);
  sizes.mask = common<std::string>(
                   readings, "mask", [](R r) { return mask_name(r.mask, r.q_len); }, unknown)
                   .value_or("");
  sizes.order = common<std::string>(
                    readings, "block_order", [](R r) { return order_name(r.grid); }, unknown)
                    .value_or("");
  return sizes;
}

}  // namespace tilescope
