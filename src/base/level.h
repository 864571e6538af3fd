// Memory levels, outermost first. A level is one row of the table below; CONTRIBUTING.md says what else it needs.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "base/enum_table.h"

namespace tilescope {

enum class LevelId { hbm, llc, l2, smem, tmem, reg };
struct LevelRow {
  LevelId value;
  std::string_view name;   // in profiles, records and JSON; its colour on report pages is the CSS property --NAME
  std::string_view title;  // in prose
  std::string_view brief;  // on axes and marks
  bool required;           // every profile states it
  bool per_unit;           // each multiprocessor has its own; else one of the whole device
  bool counted;            // predictions say what traffic it serves
  bool holds_tiles;        // a lowering may keep variables there
};
template <>
struct EnumTable<LevelId> {
  static constexpr std::array rows{LevelRow{LevelId::hbm, "hbm", "HBM", "HBM", true, false, true, false},
                                   LevelRow{LevelId::llc, "llc", "last-level cache", "LLC", false, false, true, false},
                                   LevelRow{LevelId::l2, "l2", "L2", "L2", true, false, true, false},
                                   LevelRow{LevelId::smem, "smem", "shared memory", "SMEM", true, true, true, true},
                                   LevelRow{LevelId::tmem, "tmem", "tensor memory", "TMEM", false, true, true, true},
                                   LevelRow{LevelId::reg, "register", "register", "register", true, true, true, true}};
};
inline constexpr int level_count = static_cast<int>(kind_count<LevelId>);

// The levels at which predictions count bytes.
inline constexpr auto counted_levels = [] {
  constexpr auto counted = [](const LevelRow& row) { return row.counted; };
  constexpr const auto& rows = EnumTable<LevelId>::rows;
  std::array<LevelId, static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), counted))> levels{};
  std::size_t i = 0;
  for (const LevelRow& row : rows)
    if (row.counted) levels[i++] = row.value;
  return levels;
}();

}  // namespace tilescope
