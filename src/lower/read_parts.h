// Inside src/lower: reads the parts of a lowering file that occur in several sections.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/contains.h"
#include "config/read_kind.h"
#include "lower/lowering.h"

namespace tilescope::lower {

struct Rate {
  double per_clock = 1;
  std::string source;
};

// The state of reading. Checks against the hardware are delayed until its profile is known.
struct ReadState {
  Lowering lowering;
  Sizes sizes;
  std::map<std::string, Rate> rates;
  bool hardware_known = false;
};

inline constexpr std::int64_t most_size = 1 << 24;

SizeFactor read_factor(const Node& node, const ReadState& state);
SizeProduct read_product(const Node& node, const ReadState& state);
std::string read_size_name(const Node& node, const ReadState& state);
std::string read_source(const Node& node, const ReadState& state);

// Bits of a value of the array that `node` names.
std::int64_t read_array(const Node& node, const ReadState& state, std::string& name);
inline LevelId read_level(const Node& node) {
  const auto names = kind_names<LevelId>([](const LevelRow& row) { return row.holds_tiles; });
  return find_kind<LevelId>(node, names).value_or(LevelId::smem);
}

PhaseOverlap read_overlap(const Node& node);
void read_rates(const Node& node, ReadState& state);

// The number format that `node` names; nullopt after a finding.
std::optional<Format> read_format(const Node& node);

// The profile's tensor rate for a format; findings are about `node`, where the format stands.
Rate tensor_rate(const Node& node, const ReadState& state, std::optional<Format> format);
Rate smem_rate(const Node& node, const ReadState& state);

// The rate of the operation at `node`: its own `rate`, or the profile's for its pipe, unit and dtype.
Rate read_rate(const Node& node, const ReadState& state, const PipeOperation& operation);

const std::vector<std::string>& scope_names();  // as Scope
SizeDivisor read_divisor(const Node& node, const ReadState& state);
void read_copies(const Node& node, ReadState& state);
Variable read_variable(const Node& node, const ReadState& state);
void read_work(const Node& node, ReadState& state);

// Reports findings about names, if there are no others.
void check_references(const Node& root, const Lowering& lowering);

inline bool is_one_of(const Node& node, const std::vector<std::string>& choices) {
  return node.is_scalar() && contains(choices, node.text());
}

template <class Map>
std::vector<std::string> keys_of(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

}  // namespace tilescope::lower
