#include "request/options.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tilescope {

std::optional<std::string> Options::text(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end() || found->second.empty()) return std::nullopt;
  if (found->second.size() > 1) refuse("--" + name, fmt::format("given {} times, expected once", found->second.size()));
  if (found->second.front().empty()) refuse("--" + name, "is empty, expected a value");
  return found->second.front();
}

std::vector<std::string> Options::all(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

std::vector<std::string> Options::names() const {
  std::vector<std::string> names;
  for (const auto& [name, values] : values_) names.push_back(name);
  return names;
}

std::optional<std::int64_t> Options::integer(const std::string& name, std::int64_t least, std::int64_t most) const {
  const auto value = text(name);
  if (!value) return std::nullopt;
  const auto number = parse_count(*value);
  if (!number || *number < least || *number > most)
    refuse("--" + name, fmt::format("expected an integer from {} to {}, found '{}'", least, most, *value));
  return number;
}

Options Options::with(const std::string& name, const std::string& value) const {
  Options copy = *this;
  copy.values_[name].push_back(value);
  return copy;
}

Options Options::without(const std::string& name) const {
  Options copy = *this;
  copy.values_.erase(name);
  return copy;
}

}  // namespace tilescope
