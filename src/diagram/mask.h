// Masks between queries and keys. A mask kind is one row of the table below; CONTRIBUTING.md says what else it needs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_table.h"

namespace tilescope {

// One end of the keys that query row i sees: it stands at key i + offset, but not before `least` nor past `most`.
struct Edge {
  std::int64_t offset = 0, least = 0, most = 0;

  constexpr std::int64_t at(std::int64_t row) const { return std::clamp(row + offset, least, most); }
  constexpr bool moves() const { return least < most; }
  // The first of `rows` rows whose edge stands past `key`; `rows`: none does.
  constexpr std::int64_t first_row_past(std::int64_t key, std::int64_t rows) const {
    return least > key ? 0 : most <= key ? rows : std::clamp<std::int64_t>(key - offset + 1, 0, rows);
  }
  // The same edge where keys are counted from first_key and there are key_count of them.
  constexpr Edge on(std::int64_t first_key, std::int64_t key_count) const {
    const auto moved = [&](std::int64_t key) { return std::clamp<std::int64_t>(key - first_key, 0, key_count); };
    return {offset - first_key, moved(least), moved(most)};
  }
};

// A row sees the keys [begin, end). Rows that follow each other see keys that touch or overlap, and a row without a
// key ends at key 0.
struct KeyInterval {
  Edge begin, end;
};

// What tells masks of a kind apart: the text after the ':' of a spelling.
enum class MaskArgument { none, count, file };
// How the field counts a mask's pairs of query and key: each one; or rows that see a key times the mean of where the
// end stands before the first of them and at the last, as FlashAttention's benchmarks do (hopper/benchmark_attn.py).
enum class PairCount { exact, mean_row };

enum class MaskKind { none, causal, window, prefix, blocks };
struct MaskKindRow {
  MaskKind value;
  std::string_view name;      // in descriptors and experiments
  std::string_view spelling;  // on the command line and in records: the name, and its argument after ':'
  MaskArgument argument;
  PairCount flop;
  // Of q_len queries, kv_len keys and the argument; nullptr: live pairs are those of a pattern in the file. Query i
  // stands at key i' = i + kv_len - q_len (bottom-right aligned).
  KeyInterval (*keys)(std::int64_t q_len, std::int64_t kv_len, std::int64_t count);
};
template <>
struct EnumTable<MaskKind> {
  static constexpr KeyInterval all_keys(std::int64_t, std::int64_t kv_len, std::int64_t) {
    return {.begin = {}, .end = {.least = kv_len, .most = kv_len}};
  }
  static constexpr KeyInterval up_to_own(std::int64_t q_len, std::int64_t kv_len, std::int64_t) {
    return {.begin = {}, .end = {.offset = kv_len - q_len + 1, .most = kv_len}};
  }
  static constexpr KeyInterval last_before_own(std::int64_t q_len, std::int64_t kv_len, std::int64_t width) {
    const Edge end{.offset = kv_len - q_len + 1, .most = kv_len};
    return {.begin = {.offset = end.offset - width, .most = kv_len}, .end = end};
  }
  static constexpr KeyInterval prefix_and_up_to_own(std::int64_t q_len, std::int64_t kv_len, std::int64_t length) {
    return {.begin = {}, .end = {.offset = kv_len - q_len + 1, .least = std::min(length, kv_len), .most = kv_len}};
  }
  static constexpr std::array rows{
      MaskKindRow{MaskKind::none, "none", "none", MaskArgument::none, PairCount::exact, all_keys},
      MaskKindRow{MaskKind::causal, "causal", "causal", MaskArgument::none, PairCount::mean_row, up_to_own},
      MaskKindRow{MaskKind::window, "window", "window:W", MaskArgument::count, PairCount::exact, last_before_own},
      MaskKindRow{MaskKind::prefix, "prefix", "prefix:P", MaskArgument::count, PairCount::exact, prefix_and_up_to_own},
      MaskKindRow{MaskKind::blocks, "block-sparse", "block-sparse:FILE", MaskArgument::file, PairCount::exact,
                  nullptr}};
};

// Which (query, key) pairs are live.
struct Mask {
  struct Blocks {
    std::int64_t block_q = 0, block_kv = 0;  // tile sizes the pattern is defined on
    std::vector<std::vector<bool>> live;     // [query block][key block]
  };

  MaskKind kind = MaskKind::none;
  std::int64_t count = 0;  // the argument of a kind that takes a count
  std::shared_ptr<const Blocks> blocks = nullptr;
  std::string text = "none";  // as given on the command line

  const MaskKindRow& row() const { return properties(kind); }
  bool masks() const { return kind != MaskKind::none; }
  bool contiguous() const { return row().keys != nullptr; }  // a row's keys are an interval; else those of a pattern
  KeyInterval keys(std::int64_t q_len, std::int64_t kv_len) const { return row().keys(q_len, kv_len, count); }
};

// A mask by its spelling. nullopt: not one, or one whose file the caller reads (load_mask does).
std::optional<Mask> parse_mask(std::string_view text);

// FILE of a mask that stands in a file; nullopt for another mask, or without a file.
std::optional<std::string> mask_file(std::string_view text);

// The kind that a text spells, whether or not its file exists.
std::optional<MaskKind> mask_kind(std::string_view text);

// "none, causal, window:W (W >= 1) or block-sparse:FILE"
std::string mask_spellings(bool with_limits = true);

}  // namespace tilescope
