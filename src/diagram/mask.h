// Masks between queries and keys. A mask kind is one row of the table below; CONTRIBUTING.md says what else it needs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_table.h"

namespace tilescope {

// Query i stands at key i' = i + kv_len - q_len (bottom-right aligned).
enum class MaskKind { none, causal, window, blocks };
struct MaskKindRow {
  MaskKind value;
  std::string_view name;  // in descriptors and experiments
  std::string_view
      spelling;        // on the command line and in records: "window:W" takes a number, "block-sparse:FILE" a file
  bool bounded_above;  // a query sees no key after i'
  bool bounded_below;  // and none before i' - W + 1
  bool pattern;        // live pairs are those of a block pattern in a file
};
template <>
struct EnumTable<MaskKind> {
  static constexpr std::array rows{
      MaskKindRow{MaskKind::none, "none", "none", false, false, false},
      MaskKindRow{MaskKind::causal, "causal", "causal", true, false, false},
      MaskKindRow{MaskKind::window, "window", "window:W", true, true, false},
      MaskKindRow{MaskKind::blocks, "block-sparse", "block-sparse:FILE", false, false, true}};
};

// Which (query, key) pairs are live.
struct Mask {
  struct Blocks {
    std::int64_t block_q = 0, block_kv = 0;  // tile sizes the pattern is defined on
    std::vector<std::vector<bool>> live;     // [query block][key block]
  };

  MaskKind kind = MaskKind::none;
  std::int64_t window = 0;
  std::shared_ptr<const Blocks> blocks = nullptr;
  std::string text = "none";  // as given on the command line

  const MaskKindRow& row() const { return properties(kind); }
  bool masks() const { return kind != MaskKind::none; }
  // Of a mask without a pattern: query i sees keys i + lowest_offset to i + highest_offset, as far as they exist.
  std::int64_t highest_offset(std::int64_t q_len, std::int64_t kv_len) const {
    return row().bounded_above ? kv_len - q_len : kv_len;
  }
  std::int64_t lowest_offset(std::int64_t q_len, std::int64_t kv_len) const {
    return row().bounded_below ? kv_len - q_len - window + 1 : -q_len;
  }
};

// "none", "causal", "window:W". nullopt: not one of these, or a mask whose file the caller reads.
std::optional<Mask> parse_mask(std::string_view text);

// FILE of "block-sparse:FILE"; nullopt for another mask, or without a file.
std::optional<std::string> mask_file(std::string_view text);

// "none, causal, window:W (W >= 1) or block-sparse:FILE"
std::string mask_spellings();

}  // namespace tilescope
