#include "base/units.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"

namespace tilescope {
namespace {

struct Unit {
  std::string_view name;
  double scale;  // base units per unit
};

constexpr double kibi = 1024.0;
constexpr Unit count_units[] = {{"1", 1}};
constexpr Unit byte_units[] = {{"B", 1},         {"KB", 1e3},      {"MB", 1e6},
                               {"GB", 1e9},      {"TB", 1e12},     {"KiB", kibi},
                               {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", kibi*(1 << 30)}};
constexpr Unit byte_rate_units[] = {{"B/s", 1},         {"KB/s", 1e3},      {"MB/s", 1e6},
                                    {"GB/s", 1e9},      {"TB/s", 1e12},     {"KiB/s", kibi},
                                    {"MiB/s", 1 << 20}, {"GiB/s", 1 << 30}, {"TiB/s", kibi*(1 << 30)}};
constexpr Unit byte_clock_units[] = {{"B/clk", 1}};
constexpr Unit flop_rate_units[] = {{"FLOP/s", 1}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15},
                                    {"OP/s", 1},   {"GOP/s", 1e9},   {"TOP/s", 1e12},   {"POP/s", 1e15}};
constexpr Unit flop_clock_units[] = {{"FLOP/clk", 1}, {"OP/clk", 1}};
constexpr Unit hertz_units[] = {{"Hz", 1}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9}};
constexpr Unit watt_units[] = {{"W", 1}, {"kW", 1e3}};
constexpr Unit second_units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
constexpr Unit cycle_units[] = {{"clk", 1}};
constexpr Unit joule_units[] = {{"J", 1}, {"mJ", 1e-3}, {"uJ", 1e-6}, {"nJ", 1e-9}, {"pJ", 1e-12}};

struct DimensionRow {
  std::string_view what;
  std::span<const Unit> units;
  double floor, ceiling;  // in base units; a smaller or larger value is a typo, not a machine
};

// In the order of `enum class Dimension`.
constexpr DimensionRow dimensions[] = {
    {"a positive count", count_units, 1e-9, 9007199254740992.0},
    {"an amount of memory", byte_units, 1e-3, 1e18},
    {"a bandwidth", byte_rate_units, 1, 1e18},
    {"a bandwidth per clock cycle", byte_clock_units, 1e-6, 1e9},
    {"a compute rate", flop_rate_units, 1, 1e21},
    {"a compute rate per clock cycle", flop_clock_units, 1e-6, 1e9},
    {"a clock frequency", hertz_units, 1, 1e11},
    {"a power", watt_units, 1e-6, 1e6},
    {"a time", second_units, 1e-15, 1e6},
    {"a number of clock cycles", cycle_units, 1e-6, 1e12},
    {"an energy", joule_units, 1e-21, 1e6},
};

// Characters of `text` that can belong to its leading number; a unit never starts with a digit, '.', or '-'.
std::size_t number_length(std::string_view text) {
  std::size_t end = 0;
  const auto digits = [&] {
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  };
  if (end < text.size() && text[end] == '-') ++end;
  digits();
  if (end < text.size() && text[end] == '.') ++end, digits();
  std::size_t exponent = end;
  if (exponent < text.size() && (text[exponent] == 'e' || text[exponent] == 'E')) ++exponent;
  if (exponent < text.size() && exponent > end && (text[exponent] == '-' || text[exponent] == '+')) ++exponent;
  if (exponent > end && exponent < text.size() && text[exponent] >= '0' && text[exponent] <= '9') {
    end = exponent;
    digits();
  }
  return end;
}

std::string expectation(Dimension dimension) {
  const DimensionRow& row = dimensions[static_cast<std::size_t>(dimension)];
  if (dimension == Dimension::count) return std::string("expected ") + std::string(row.what);
  std::vector<std::string> names;
  for (const Unit& unit : row.units) names.emplace_back(unit.name);
  return fmt::format("expected {} as a positive number and a unit ({})", row.what, join(names, ", "));
}

}  // namespace

std::optional<double> parse_decimal(std::string_view text) {
  if (text.size() > 64 || number_length(text) != text.size()) return std::nullopt;
  std::string_view digits = text;
  if (digits.starts_with('-')) digits.remove_prefix(1);
  if (digits.empty() || digits.front() < '0' || digits.front() > '9') return std::nullopt;
  if (digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') return std::nullopt;
  const std::size_t point = digits.find('.');
  if (point != std::string_view::npos &&
      (point + 1 == digits.size() || digits[point + 1] < '0' || digits[point + 1] > '9')) {
    return std::nullopt;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

ParsedQuantity parse_quantity(std::string_view text, Dimension dimension) {
  const DimensionRow& row = dimensions[static_cast<std::size_t>(dimension)];
  const std::string_view whole = trimmed(text);
  const auto refuse = [&](const std::string& finding) {
    return ParsedQuantity{std::nullopt, fmt::format("{}, found {}", expectation(dimension), finding)};
  };
  const std::string shown = shown_text(whole);
  const std::size_t length = number_length(whole);
  const std::optional<double> number = parse_decimal(whole.substr(0, length));
  if (!number) return refuse(shown);
  const std::string_view unit_name = trimmed(whole.substr(length));
  const Unit* unit = nullptr;
  for (const Unit& candidate : row.units) {
    if (candidate.name == unit_name || (dimension == Dimension::count && unit_name.empty())) unit = &candidate;
  }
  if (unit == nullptr && unit_name.empty()) return refuse(shown + " without a unit");
  if (unit == nullptr) {
    std::vector<std::string> names;
    for (const Unit& candidate : row.units) names.emplace_back(candidate.name);
    const auto near = nearest(unit_name, names);
    return refuse(fmt::format("{} with an unknown unit{}", shown, near ? "; did you mean '" + *near + "'?" : ""));
  }
  const double value = *number * unit->scale;
  if (!(value > 0)) return refuse(shown + ", which is not positive");
  if (!(value >= row.floor)) return refuse(shown + ", which is smaller than any machine has");
  if (!(value <= row.ceiling)) return refuse(shown + ", which is larger than any machine has");
  return ParsedQuantity{value, {}};
}

std::optional<std::int64_t> parse_count(std::string_view text) {
  std::int64_t factor = 1;
  if (text.ends_with('k') || text.ends_with('K')) factor = 1024;
  if (text.ends_with('m') || text.ends_with('M')) factor = 1024 * 1024;
  if (factor > 1) text.remove_suffix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool padded = text.size() > 1 && text.front() == '0';  // "010" could mean 8 or 10
  if (text.empty() || padded || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (__builtin_mul_overflow(value, factor, &value)) return std::nullopt;
  return value;
}

}  // namespace tilescope
