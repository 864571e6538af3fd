#include "predict/traffic/sectors.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace tilescope {
namespace {

// Sectors that elements [first, first + count) touch; sizes in elements.
std::int64_t touched(std::int64_t first, std::int64_t count, std::int64_t sector) {
  return count == 0 ? 0 : (first + count - 1) / sector - first / sector + 1;
}

// Sectors of one line that starts `offset` elements into a sector. Full segments repeat their alignment with a period.
std::int64_t line_sectors(std::int64_t offset, std::int64_t length, std::int64_t segment, std::int64_t sector) {
  const std::int64_t full = length / segment, period = sector / std::gcd(sector, segment);
  std::int64_t sectors = touched((offset + full * segment) % sector, length % segment, sector);
  for (std::int64_t i = 0; i < std::min(full, period); ++i) {
    const std::int64_t alike = (full - i - 1) / period + 1;
    sectors = checked_add(sectors, checked_mul(alike, touched((offset + i * segment) % sector, segment, sector)));
  }
  return sectors;
}

}  // namespace

std::int64_t sector_accesses(std::int64_t lines, std::int64_t length, std::int64_t first, std::int64_t count,
                             std::int64_t segment, std::int64_t element_bytes, std::int64_t sector_bytes) {
  const std::int64_t sector = std::max<std::int64_t>(1, sector_bytes / element_bytes);
  const std::int64_t period = sector / std::gcd(sector, length);  // lines start at alignments that repeat
  std::int64_t sectors = 0;
  for (std::int64_t line = 0; line < std::min(lines, period); ++line) {
    const std::int64_t alike = (lines - line - 1) / period + 1, offset = (line * (length % sector) + first) % sector;
    sectors = checked_add(sectors, checked_mul(alike, line_sectors(offset, count, segment, sector)));
  }
  return checked_mul(sectors, sector_bytes);
}

std::int64_t strided_reads(std::int64_t steps, std::int64_t rows, std::int64_t lanes, std::int64_t element_bytes,
                           std::int64_t sector_bytes) {
  const std::int64_t sector = std::max<std::int64_t>(1, sector_bytes / element_bytes);
  if (rows >= sector) return checked_mul(checked_mul(steps, rows), sector_bytes);  // no two steps share one
  std::int64_t sectors = 0;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t first = 0; first < steps; first += lanes) {
      const std::int64_t last = std::min(first + lanes, steps) - 1;
      sectors = checked_add(sectors, touched(first * rows + row, (last - first) * rows + 1, sector));
    }
  return checked_mul(sectors, sector_bytes);
}

std::int64_t sector_stores(std::int64_t lines, std::int64_t length, std::int64_t segment, std::int64_t element_bytes,
                           std::int64_t sector_bytes) {
  return sector_accesses(lines, length, 0, length, segment, element_bytes, sector_bytes);
}

}  // namespace tilescope
