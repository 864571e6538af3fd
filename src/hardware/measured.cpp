#include "hardware/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/text.h"

namespace tilescope {
namespace {

using Rates = MeasuredRates;

std::optional<Format> format_of(const std::string& key, const Node& entry) {
  const auto format = parse_format(key);
  if (format && to_string(*format) == key) return format;
  entry.report("unknown number format" + did_you_mean(key, dtype_names()));
  return std::nullopt;
}

// "n128" -> 128: the prefix and a positive number without a leading zero.
std::optional<std::int64_t> count_of(const std::string& key, const std::string& prefix, const Node& entry) {
  std::int64_t count = 0;
  const std::string digits = key.starts_with(prefix) ? key.substr(prefix.size()) : "";
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  if (whole && digits.front() != '0' && count > 0 && count <= 1024) return count;
  entry.report(
      fmt::format("expected a key such as '{}8', with a number from 1 to 1024, found {}", prefix, shown_text(key)));
  return std::nullopt;
}

// Reads one field, whatever its kind.
struct FieldReader {
  const SourcedReader& sourced;
  std::string prefix;
  Dimension dimension;

  void read(const Node& node, Rates::Value& field) const { field = sourced(node, dimension); }
  void read(const Node& node, Rates::ByCount& field) const {
    for (const auto& [key, entry] : node.entries())
      if (const auto count = count_of(key, prefix, entry)) field[*count] = sourced(entry, dimension);
  }
  template <class Inner>
  void read(const Node& node, std::map<Format, Inner>& field) const {
    for (const auto& [key, entry] : node.entries()) {
      const auto format = format_of(key, entry);
      if (!format) continue;
      if constexpr (std::is_same_v<Inner, Sourced<double>>) field[*format] = sourced(entry, dimension);
      else read(entry, field[*format]);
    }
  }
};

// Hands on the values of one field, whatever its kind, with their paths.
struct FieldLister {
  const MeasuredVisitor& visit;
  std::string prefix;
  Dimension dimension;

  void list(const std::string& path, const Sourced<double>& value) const { visit(path, dimension, value); }
  void list(const std::string& path, const Rates::Value& field) const {
    if (field) visit(path, dimension, *field);
  }
  void list(const std::string& path, const Rates::ByCount& field) const {
    for (const auto& [count, value] : field) list(fmt::format("{}.{}{}", path, prefix, count), value);
  }
  template <class Inner>
  void list(const std::string& path, const std::map<Format, Inner>& field) const {
    for (const auto& [format, inner] : field) list(path + "." + to_string(format), inner);
  }
};

}  // namespace

std::string base_unit(Dimension dimension) {
  static constexpr const char* names[] = {"1", "B", "B/s", "B/clk", "FLOP/s", "OP/clk", "Hz", "W", "s", "clk", "J"};
  return names[static_cast<std::size_t>(dimension)];
}

std::string count_prefix(const std::string& group) { return group == "sync" ? "w" : group == "l2" ? "p" : "n"; }

void for_each_measured(const MeasuredRates& rates, const MeasuredVisitor& visit) {
  visit_measured(rates, [&](const std::string& group, const std::string& key, Dimension dimension, const auto& field) {
    FieldLister{visit, count_prefix(group), dimension}.list(group + "." + key, field);
  });
}

MeasuredRates read_measured(const Node& block, const SourcedReader& sourced) {
  MeasuredRates rates;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> keys;
  visit_measured(rates, [&](const std::string& group, const std::string& key, Dimension, const auto&) {
    if (groups.empty() || groups.back() != group) groups.push_back(group);
    keys[group].push_back(key);
  });
  block.only(groups);
  for (const std::string& group : groups)
    if (const auto node = block.find(group)) node->only(keys[group]);
  visit_measured(rates, [&](const std::string& group, const std::string& key, Dimension dimension, auto& field) {
    const auto node = block.find(group);
    const auto entry = node ? node->find(key) : std::nullopt;
    if (entry) FieldReader{sourced, count_prefix(group), dimension}.read(*entry, field);
  });
  return rates;
}

}  // namespace tilescope
