#include "network/config_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/contains.h"
#include "base/text.h"

namespace tilescope {
namespace {

constexpr std::int64_t largest = std::int64_t{1} << 31;

}  // namespace

ConfigValues::ConfigValues(const nlohmann::json& object, std::string file,
                           const std::map<std::string, std::vector<std::string>>& keys,
                           std::map<std::string, std::int64_t> defaults)
    : object_(&object), file_(std::move(file)), keys_(&keys), defaults_(std::move(defaults)) {}

std::string ConfigValues::key_of(const std::string& quantity) const {
  const auto keys = keys_->find(quantity);
  if (keys == keys_->end()) return quantity;
  for (const std::string& key : keys->second)
    if (const auto found = object_->find(key); found != object_->end() && !found->is_null()) return key;
  return join(keys->second, " or ");
}

const nlohmann::json* ConfigValues::value(const std::string& quantity) const {
  const auto found = object_->find(key_of(quantity));
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

void ConfigValues::report(const std::string& quantity, const std::string& message) {
  findings_.push_back({.file = file_, .path = key_of(quantity), .message = message});
}

std::optional<std::int64_t> ConfigValues::count(const std::string& quantity) {
  const nlohmann::json* given = value(quantity);
  if (given) {
    if (given->is_number_integer() && *given >= 0 && *given <= largest) {
      if (const auto number = given->get<std::int64_t>(); number > 0) return number;
      return std::nullopt;
    }
    report(quantity, fmt::format("expected an integer from 0 to {}, found {}", largest, shown_text(given->dump())));
    return std::nullopt;
  }
  const auto usual = defaults_.find(quantity);
  return usual == defaults_.end() ? std::nullopt : std::optional(usual->second);
}

std::optional<std::int64_t> ConfigValues::size(const std::string& quantity) {
  if (const nlohmann::json* given = value(quantity); given && *given == 0)
    report(quantity, fmt::format("expected an integer from 1 to {}, found 0", largest));
  return count(quantity);
}

std::int64_t ConfigValues::required(const std::string& quantity) {
  const std::size_t before = findings_.size();
  if (const auto found = size(quantity)) return *found;
  if (findings_.size() == before) report(quantity, fmt::format("is missing: the model's {}", quantity));
  return 1;
}

std::optional<bool> ConfigValues::flag(const std::string& key) {
  asked_.insert(key);
  const nlohmann::json* given = value(key);
  if (!given) return std::nullopt;
  if (given->is_boolean()) return given->get<bool>();
  report(key, fmt::format("expected true or false, found {}", shown_text(given->dump())));
  return std::nullopt;
}

std::vector<std::string> ConfigValues::texts(const std::string& key) {
  asked_.insert(key);
  std::vector<std::string> texts;
  const nlohmann::json* given = value(key);
  if (!given) return texts;
  if (!given->is_array()) {
    report(key, fmt::format("expected a list of names, found {}", shown_text(given->dump())));
    return texts;
  }
  for (const auto& item : *given) {
    if (item.is_string()) texts.push_back(item.get<std::string>());
    else report(key, fmt::format("expected names, found {}", shown_text(item.dump())));
  }
  return texts;
}

std::set<std::int64_t> ConfigValues::layer_numbers(const std::string& quantity, std::int64_t layers) {
  std::set<std::int64_t> numbers;
  const nlohmann::json* given = value(quantity);
  if (!given) return numbers;
  const auto is_layer = [&](const nlohmann::json& item) {
    return item.is_number_integer() && item >= 0 && item < layers;
  };
  if (given->is_array() && std::all_of(given->begin(), given->end(), is_layer)) {
    for (const auto& item : *given) numbers.insert(item.get<std::int64_t>());
  } else {
    report(quantity, fmt::format("expected a list of layers, numbers from 0 to {}, found {}", layers - 1,
                                 shown_text(given->dump())));
  }
  return numbers;
}

std::vector<std::string> ConfigValues::unread(std::int64_t layers) const {
  std::vector<std::string> unread;
  for (const auto& [key, item] : object_->items()) {
    const auto reads = [&, &name = key](const auto& quantity) { return contains(quantity.second, name); };
    if (!asked_.contains(key) && std::none_of(keys_->begin(), keys_->end(), reads) &&
        says_layers_differ(key, item, layers))
      unread.push_back(key);
  }
  return unread;
}

std::vector<std::string> ConfigValues::found() const {
  std::vector<std::string> found;
  for (const auto& [quantity, keys] : *keys_)
    if (const nlohmann::json* given = value(quantity); given && given->is_number_integer())
      found.push_back(fmt::format("{} {} ({})", quantity, given->dump(), key_of(quantity)));
  return found;
}

void ConfigValues::finish() const {
  if (!findings_.empty()) throw InputError(findings_);
}

}  // namespace tilescope
