#include "request/sweep/axis_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

namespace tilescope {
namespace {

constexpr std::int64_t largest_value = std::int64_t{1} << 40;

std::int64_t number(std::string_view word, const std::string& text) {
  const auto value = parse_count(word);
  if (!value || *value < 1 || *value > largest_value)
    refuse("--axis", fmt::format("expected integers from 1 to 2^40, found '{}' in '{}'", word, text));
  return *value;
}

std::string counted(std::size_t count) { return with_thousands(static_cast<long long>(count)); }

void check_count(std::size_t count, const std::string& text, bool times, std::int64_t step, bool many) {
  if (count == 0) refuse("--axis", fmt::format("'{}' is an empty range: FIRST is above LAST", text));
  if (count > most_axis_values)
    refuse("--axis", fmt::format("'{}' gives {} values, most are {}", text, counted(count), counted(most_axis_values)));
  if (count <= many_axis_values || many) return;
  refuse("--axis", fmt::format("'{}' gives {} values{}; write --yes to take them all", text, counted(count),
                               times || step < 2 ? "" : fmt::format(": :{0} adds {0}, :x{0} multiplies", step)));
}

}  // namespace

std::vector<std::int64_t> AxisValues::written_out() const {
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < size(); ++i) all.push_back((*this)[i]);
  return all;
}

std::int64_t AxisValues::largest() const {
  return listed_.empty() ? (*this)[count_ - 1] : *std::max_element(listed_.begin(), listed_.end());
}

AxisValues AxisValues::parse(const std::string& text, bool many) {
  AxisValues values;
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() == 1) {
    for (const std::string& word : split(text, ',')) values.listed_.push_back(number(word, text));
    values.count_ = values.listed_.size();
    return values;
  }
  if (parts.size() != 3 || parts[2].empty())
    refuse("--axis", fmt::format("expected FIRST:LAST:xFACTOR or FIRST:LAST:+STEP or a list A,B,C, found '{}'", text));
  const bool times = parts[2][0] == 'x';
  const std::int64_t step = number(times || parts[2][0] == '+' ? parts[2].substr(1) : parts[2], text);
  if (times && step < 2) refuse("--axis", "a factor must be at least 2");
  const std::int64_t first = number(parts[0], text), last = number(parts[1], text);
  if (times) {
    for (std::int64_t value = first; value <= last;) {
      values.listed_.push_back(value);
      if (__builtin_mul_overflow(value, step, &value)) break;
    }
    values.count_ = values.listed_.size();
  } else if (first <= last) {
    values.first_ = first, values.step_ = step;
    values.count_ = static_cast<std::size_t>((last - first) / step) + 1;
  }
  check_count(values.count_, text, times, step, many);
  return values;
}

std::vector<std::string> parse_choices(const std::string& text, bool ranges) {
  std::vector<std::string> choices;
  if (ranges && text.find(':') != std::string::npos) {
    const AxisValues values = AxisValues::parse(text, false);
    for (std::size_t i = 0; i < values.size(); ++i) choices.push_back(std::to_string(values[i]));
    return choices;
  }
  int depth = 0;
  choices.emplace_back();
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0) choices.emplace_back();
    else choices.back() += c;
  }
  return choices;
}

}  // namespace tilescope
