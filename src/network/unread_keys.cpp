// Keys of a configuration that no quantity reads although they say that the model's layers differ.
#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "network/config_values.h"

namespace tilescope {
namespace {

// Every n-th layer, or which ones: 1 is every layer.
constexpr std::array<std::string_view, 10> steps{"interval", "period", "pattern", "freq",    "frequency",
                                                 "every",    "stride", "indices", "indexes", "idxs"};
constexpr std::array<std::string_view, 3> layer_words{"layer", "layers", "hybrid"};
constexpr std::array<std::string_view, 4> parts_of_layers{"block", "blocks", "attn", "attention"};
// Layers that are no attention, where they begin a key.
constexpr std::array<std::string_view, 9> other_mixers{"linear", "lightning", "mamba", "mamba2", "ssm",
                                                       "lru",    "recurrent", "rwkv",  "conv"};
// Positions and norms cost no time that is counted.
constexpr std::array<std::string_view, 3> without_effect{"rope", "rotary", "norm"};

template <std::size_t N>
bool has_word(const std::vector<std::string>& words, const std::array<std::string_view, N>& listed) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(listed.begin(), listed.end(), word) != listed.end();
  });
}

std::vector<std::string> words_of(std::string key) {
  std::transform(key.begin(), key.end(), key.begin(), [](unsigned char c) { return std::tolower(c); });
  std::vector<std::string> words = split(key, '_');
  words.erase(std::remove(words.begin(), words.end(), ""), words.end());
  return words;
}

}  // namespace

bool says_layers_differ(const std::string& key, const nlohmann::json& value, std::int64_t layers) {
  const std::vector<std::string> words = words_of(key);
  if (words.empty() || has_word(words, without_effect)) return false;
  const bool listed = (value.is_structured() && !value.empty()) || (value.is_string() && value != "");
  const bool counted = value.is_number_integer() && value > 0;
  if (has_word(words, steps)) return listed || (counted && value > 1);
  if (has_word(words, layer_words) || has_word({words.front()}, other_mixers))
    return listed || (counted && value != layers);
  if (has_word(words, parts_of_layers)) return value.is_structured() && !value.empty();
  return value.is_array() && layers > 1 && value.size() == static_cast<std::size_t>(layers);
}

}  // namespace tilescope
