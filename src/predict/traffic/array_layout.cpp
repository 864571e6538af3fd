#include "predict/traffic/array_layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/checked.h"
#include "predict/point/products.h"

namespace tilescope {
namespace {

using D = LayoutDimension;

// An array of (batch, heads, length, dim), heads perhaps as KV heads and query heads of each: its numbers of each.
std::optional<RowPlaces> dense_rows(const Diagram& diagram, const Point& point, ArrayId id) {
  const Array& array = diagram.array(id);
  RowPlaces places;
  bool length = false, dim = false;
  for (const AxisId axis : array.axes) {
    const Axis& of = diagram.axes[index(axis)];
    if (!of.extent || of.per != 1 || dim) return std::nullopt;  // dim comes last
    const std::int64_t size = of.size_in(point.workload);
    switch (*of.extent) {
      case Extent::batch:
        places.batch = size;
        break;
      case Extent::heads_kv:
      case Extent::group:
        places.heads = checked_mul(places.heads, size);
        break;
      case Extent::q_len:
      case Extent::kv_len:
        if (length) return std::nullopt;
        places.length = size, length = true;
        break;
      case Extent::d_qk:
      case Extent::d_v:
        places.row = padded_bytes_of(point, diagram, id, size), dim = true;
        break;
    }
  }
  return length && dim ? std::optional(places) : std::nullopt;
}

// Bytes of all heads of a token's row in the tensor that holds the inputs side by side, and those before the array's.
std::int64_t packed_row(const Diagram& diagram, const Point& point, ArrayId id, RowPlaces& places) {
  std::int64_t all = 0;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto other = static_cast<ArrayId>(static_cast<int>(i));
    if (diagram.array(other).role != ArrayRole::input) continue;
    if (other == id) places.first = all;
    if (const auto rows = dense_rows(diagram, point, other))
      all = checked_add(all, checked_mul(rows->heads, rows->row));
  }
  return all;
}

}  // namespace

std::optional<RowPlaces> row_places(const BoundIsland& bound, ArrayId id) {
  const std::vector<D>& order = bound.plan.kernel.layout;
  const Diagram& diagram = bound.plan.schedule.diagram;
  if (order.empty() || diagram.array(id).role == ArrayRole::interior) return std::nullopt;
  auto places = dense_rows(diagram, bound.point, id);
  if (!places) return std::nullopt;
  const bool input = diagram.array(id).role == ArrayRole::input;
  std::int64_t step = places->row;
  for (std::size_t i = order.size(); i-- > 0;) switch (order[i]) {
      case D::dim:
        break;
      case D::arrays:
        if (input) step = packed_row(diagram, bound.point, id, *places);
        break;
      case D::heads:
        places->head_step = step, step = checked_mul(step, places->heads);
        break;
      case D::length:
        places->step = step, step = checked_mul(step, places->length);
        break;
      case D::batch:
        places->entry_step = step, step = checked_mul(step, places->batch);
        break;
    }
  return places;
}

std::int64_t sectors_of_rows(const RowPlaces& places, std::int64_t sector, bool by_copies) {
  // Rows by where in a sector they begin; those of all rows, entries and heads in turn.
  std::vector<std::int64_t> rows(static_cast<std::size_t>(sector), 0);
  rows[static_cast<std::size_t>(places.first % sector)] = 1;
  for (const auto& [count, step] :
       {std::pair{places.batch, places.entry_step}, {places.heads, places.head_step}, {places.length, places.step}}) {
    const std::int64_t period = sector / std::gcd(sector, step % sector);
    std::vector<std::int64_t> next(rows.size(), 0);
    for (std::int64_t i = 0; i < std::min(count, period); ++i) {
      const std::int64_t alike = (count - i - 1) / period + 1, moved = i * (step % sector);
      for (std::int64_t at = 0; at < sector; ++at) {
        std::int64_t& to = next[static_cast<std::size_t>((at + moved) % sector)];
        to = checked_add(to, checked_mul(alike, rows[static_cast<std::size_t>(at)]));
      }
    }
    rows = std::move(next);
  }
  const std::int64_t full = places.row / sector, rest = places.row % sector;
  std::int64_t sectors = 0;
  for (std::int64_t at = 0; at < sector; ++at) {
    const std::int64_t of_blocks = full * (at > 0 ? 2 : 1) + (rest > 0 ? ceil_div(at + rest, sector) : 0);
    const std::int64_t touched = by_copies ? of_blocks : ceil_div(checked_add(at, places.row), sector);
    sectors = checked_add(sectors, checked_mul(rows[static_cast<std::size_t>(at)], touched));
  }
  return sectors;
}

std::int64_t in_sectors_of_rows(const BoundIsland& bound, ArrayId id, std::int64_t bytes, bool loads) {
  if (bound.plan.kernel.layout.empty() || !bound.hardware.sector_bytes || bytes == 0) return bytes;
  const auto places = row_places(bound, id);
  const bool by_copies =
      loads && bound.how.loads_by == CopyPath::cp_async && bound.streams(id) && in_shared_memory(bound, id);
  if (!places || (places->dense() && !by_copies)) return bytes;
  const std::int64_t sector = bound.hardware.sector_bytes->value;
  const std::int64_t all = checked_mul(checked_mul(places->batch, places->heads), places->length);
  const std::int64_t sectors = checked_mul(sectors_of_rows(*places, sector, by_copies), sector);
  // Every row equally often, and the rest, of rows that a mask lets some blocks see, at the mean of all rows.
  const std::int64_t rows = bytes / places->row, rest = rows % all;
  const double mean = static_cast<double>(sectors) / static_cast<double>(all);
  return checked_add(checked_mul(rows / all, sectors), std::llround(static_cast<double>(rest) * mean)) +
         bytes % places->row;
}

}  // namespace tilescope
