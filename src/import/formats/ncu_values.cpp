#include "import/formats/ncu_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "base/units.h"

namespace tilescope::imported {
namespace {

// Powers of ten of a unit's multiples. Units that count have no name of their own multiples: "Kinst".
constexpr std::array<std::pair<char, int>, 8> multiples{
    {{'n', -9}, {'u', -6}, {'m', -3}, {'K', 3}, {'k', 3}, {'M', 6}, {'G', 9}, {'T', 12}}};
constexpr std::array<std::string_view, 21> bases{
    "byte", "inst", "sector", "request",  "cycle", "warp",      "thread", "block",  "register", "second", "s",
    "hz",   "Hz",   "pass",   "instance", "SM",    "wavefront", "op",     "sample", "cluster",  "B"};

std::optional<int> power_of(std::string_view unit) {
  if (unit.empty() || unit == "%" || unit == "-") return 0;
  const auto known = [](std::string_view text) { return std::find(bases.begin(), bases.end(), text) != bases.end(); };
  if (known(unit)) return 0;
  for (const auto& [letter, power] : multiples)
    if (unit.front() == letter && known(unit.substr(1))) return power;
  return std::nullopt;
}

std::optional<int> power_of_quotient(std::string_view unit) {
  const std::size_t slash = unit.find('/');
  const auto above = power_of(trimmed(unit.substr(0, slash)));
  if (!above || slash == std::string_view::npos) return above;
  const auto below = power_of(trimmed(unit.substr(slash + 1)));
  return below ? std::optional(*above - *below) : std::nullopt;
}

// Without the commas between groups of three digits; nullopt where they stand elsewhere.
std::optional<std::string> without_separators(std::string_view text) {
  std::string plain;
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::size_t comma = text.find(',');
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ',') {
      plain += text[i];
      continue;
    }
    if (i > point || i == 0 || (point - i) % 4 != 0 || comma > 3 + (text.front() == '-')) return std::nullopt;
  }
  return plain;
}

}  // namespace

bool is_absent(std::string_view number) {
  static constexpr std::array<std::string_view, 7> words{"", "n/a", "N/A", "nan", "(!) nan", "no data", "-nan"};
  return std::find(words.begin(), words.end(), trimmed(number)) != words.end();
}

std::optional<NcuValue> parse_ncu_value(std::string_view number, std::string_view unit, std::string& problem) {
  std::string_view first = trimmed(number);
  if (const std::size_t instances = first.find(" ("); instances != std::string_view::npos)
    first = first.substr(0, instances);
  const auto plain = without_separators(first);
  if (!plain || !parse_decimal(*plain)) {
    problem = fmt::format("expected a number as in 1,234.5, found {}; run ncu with LC_ALL=C", shown_text(first));
    return std::nullopt;
  }
  const auto power = power_of_quotient(trimmed(unit));
  if (!power) {
    problem = fmt::format("unit {} is unknown; run ncu with --print-units base", shown_text(unit));
    return std::nullopt;
  }
  const bool scaled = *power != 0 && plain->find_first_of("eE") == std::string::npos;
  const auto value = parse_decimal(*power == 0 ? *plain : scaled ? fmt::format("{}e{}", *plain, *power) : "");
  if (!value) {
    problem = fmt::format("the number {} {} is too large", shown_text(first), shown_text(unit));
    return std::nullopt;
  }
  const std::size_t point = plain->find('.');
  const int digits = point == std::string::npos ? 0 : static_cast<int>(plain->size() - point - 1);
  return NcuValue{*value, *power > digits ? std::pow(10.0, *power - digits) : 0};
}

}  // namespace tilescope::imported
