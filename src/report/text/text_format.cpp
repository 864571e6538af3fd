#include "report/text/text_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "base/level.h"
#include "base/text.h"

namespace tilescope::report {
namespace {

constexpr const char* kAbsent = "–";

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// `digits` significant digits with an SI prefix, from femto to exa.
std::string with_prefix(double value, const std::string& unit, int digits = 4) {
  static constexpr std::array<const char*, 12> kPrefixes{"f", "p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E"};
  if (value == 0) return unit.empty() ? "0" : "0 " + unit;
  int step = static_cast<int>(std::floor(std::log10(std::abs(value)) / 3));
  step = std::clamp(step, -5, 6);
  double scaled = value / std::pow(1000.0, step);
  if (std::abs(scaled) >= (digits < 4 ? 999.5 : 999.95) && step < 6)
    scaled = value / std::pow(1000.0, ++step);  // 999.96 k would print as 1000 k
  const int decimals = digits - (std::abs(scaled) >= 100 ? 3 : std::abs(scaled) >= 10 ? 2 : 1);
  const std::string suffix = kPrefixes[static_cast<std::size_t>(step + 5)] + unit;
  return fmt::format("{:.{}f}{}{}", scaled, decimals, suffix.empty() ? "" : " ", suffix);
}

// A chart's expressions hold names as string literals, where a line end of any kind is an error.
std::string one_line(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool separator = text.compare(i, 3, "\xE2\x80\xA8") == 0 || text.compare(i, 3, "\xE2\x80\xA9") == 0;
    out += separator || static_cast<unsigned char>(text[i]) < 0x20 ? ' ' : text[i];
    if (separator) i += 2;
  }
  return out;
}

// A summary carries the level among the words of the name: "traffic hbm read" -> {"hbm", "traffic read"}.
std::pair<std::string, std::string> level_within(const std::string& quantity) {
  std::string found, rest;
  for (const std::string& part : split(quantity, ' ')) {
    if (parse_kind<LevelId>(part) && found.empty()) found = part;
    else rest += (rest.empty() ? "" : " ") + part;
  }
  return {found, rest};
}

// Two decimals below 10, one below 1000, thousands separated above.
std::string percent_digits(double percent) {
  if (std::abs(percent) >= 1000 && std::abs(percent) < 9e15) return with_thousands(std::llround(percent));
  return fmt::format("{:.{}f}", percent, std::abs(percent) >= 10 ? 1 : 2);
}

bool is_count(double value) { return value == std::floor(value) && std::abs(value) < 9.0e15; }

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string escape_markdown(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n' || c == '\r') out += ' ';
    else if (std::string_view("\\`*_[]<>|#~").find(c) != std::string_view::npos) (out += '\\') += c;
    else out += c;
  }
  return out;
}

std::string unit_of(const std::string& quantity) {
  if (contains(quantity, "bytes") || contains(quantity, "traffic")) return "B";
  if (contains(quantity, "seconds")) return "s";
  if (contains(quantity, "flop")) return "FLOP";
  if (contains(quantity, "_hz")) return "Hz";
  return {};
}

std::string quantity_text(const std::string& quantity, std::optional<double> value) {
  if (!value) return kAbsent;
  const std::string unit = unit_of(quantity);
  if (unit == "s" || unit == "Hz" || !is_count(*value)) return with_prefix(*value, unit);
  const std::string digits = with_thousands(static_cast<long long>(*value));
  return unit.empty() ? digits : digits + " " + unit;
}

std::string quantity_short(const std::string& quantity, std::optional<double> value, int digits) {
  if (!value) return kAbsent;
  return with_prefix(*value, unit_of(quantity), digits);
}

std::string percent_text(std::optional<double> fraction) {
  if (!fraction) return kAbsent;
  const double percent = *fraction * 100;
  if (percent == 0) return "0 %";
  if (std::abs(percent) < 0.01) return "< 0.01 %";
  return percent_digits(percent) + " %";
}

std::string error_text(std::optional<double> ratio) {
  if (!ratio) return kAbsent;
  const double percent = (*ratio - 1) * 100;
  if (percent == 0) return "0 %";
  const std::string sign = percent > 0 ? "+" : "−";
  return std::abs(percent) < 0.005 ? "< 0.01 %" : sign + percent_digits(std::abs(percent)) + " %";
}

std::string tolerance_text(std::optional<double> tolerance) {
  if (!tolerance) return "none";
  return *tolerance == 0 ? "exact" : "± " + percent_text(tolerance);
}

std::string allowed_text(std::optional<double> tolerance, double slack, const std::string& quantity) {
  if (slack <= 0) return tolerance_text(tolerance);
  const bool kib = unit_of(quantity) == "B" && std::fmod(slack, 1024) == 0;
  return tolerance_text(tolerance) + " or " +
         (kib ? with_thousands(std::llround(slack / 1024)) + " KiB" : quantity_text(quantity, slack));
}

std::string ratio_text(std::optional<double> ratio) { return ratio ? fmt::format("{:.4f}", *ratio) : kAbsent; }

std::string plain_number(std::optional<double> value) {
  if (!value) return {};
  return is_count(*value) ? fmt::format("{}", static_cast<std::int64_t>(*value)) : fmt::format("{}", *value);
}

std::string level_name(const std::string& level) {
  const auto id = parse_kind<LevelId>(level);
  return id ? std::string(properties(*id).title) : level;
}

std::string resource_name(const std::string& resource) {
  if (resource == "tensor") return "tensor cores";
  if (resource == "xu") return "XU";
  if (resource == "fma") return "FMA pipe";
  return level_name(resource);
}

std::string level_short(const std::string& level) {
  const auto id = parse_kind<LevelId>(level);
  return id ? std::string(properties(*id).brief) : level;
}

std::string quantity_name(const std::string& quantity, const std::string& level) {
  static const std::map<std::string, std::string> kWords{{"read_bytes", "read"},
                                                         {"write_bytes", "write"},
                                                         {"traffic read", "read"},
                                                         {"traffic write", "write"},
                                                         {"operand_bytes read", "operand reads"},
                                                         {"operand_read_bytes", "operand reads"},
                                                         {"exp", "exponentials"},
                                                         {"xu", "XU operations"},
                                                         {"ffma", "FFMA operations"},
                                                         {"fadd", "FADD operations"},
                                                         {"fmul", "FMUL operations"},
                                                         {"instructions", "warp instructions"},
                                                         {"alu_instructions", "ALU instructions"},
                                                         {"seconds", "time"},
                                                         {"seconds_cold", "cold time"},
                                                         {"clock_hz", "clock"}};
  if (level.empty())
    if (const auto [found, rest] = level_within(quantity); !found.empty()) return quantity_name(rest, found);
  std::string words = one_line(quantity);
  if (const auto known = kWords.find(quantity); known != kWords.end()) words = known->second;
  for (char& c : words)
    if (c == '_') c = ' ';
  if (words.ends_with(" flop")) words.replace(words.size() - 4, 4, "FLOP");
  return level.empty() ? words : level_short(level) + " " + words;
}

}  // namespace tilescope::report
