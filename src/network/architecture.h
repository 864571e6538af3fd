// What each model_type of a configuration means (models/networks/architectures.yaml).
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/enum_table.h"

namespace tilescope {

// Which layers see a window of keys, of a model that has one.
enum class WindowRule { none, all, but_every, from };
template <>
struct EnumTable<WindowRule> {
  static constexpr std::array rows{NamedKind{WindowRule::none, "none"}, NamedKind{WindowRule::all, "all"},
                                   NamedKind{WindowRule::but_every, "but_every"}, NamedKind{WindowRule::from, "from"}};
};

struct Architecture {
  std::string name = {};
  bool gated = true;  // the feed-forward layer has three matrices, else two
  std::int64_t norms = 2;
  bool query_key_norm = false, learned_positions = false, sinks = false, experts_every_layer = false;
  bool tied = false;  // unless the configuration says
  std::set<std::string> biases = {};
  WindowRule windows = WindowRule::none;
  std::map<std::string, std::int64_t> defaults = {};  // by quantity
};

struct Architectures {
  std::map<std::string, std::vector<std::string>> keys = {};  // of a quantity, the first that is present counts
  std::vector<std::string> without_effect = {};  // keys that change no size although their names sound like it
  std::vector<Architecture> list = {};

  std::vector<std::string> names() const;
  const Architecture* find(const std::string& name) const;  // nullptr: unknown
};

// Throws InputError with every finding.
Architectures load_architectures(const std::filesystem::path& file);

}  // namespace tilescope
