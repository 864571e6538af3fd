#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numeric>

namespace tilescope {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > 200) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    std::size_t distance = edit_distance(word, candidate);
    if (word.size() >= 2 && candidate.size() > word.size() &&
        edit_distance(word, candidate.substr(0, word.size())) == 0) {
      distance = std::min<std::size_t>(distance, 1);  // the start of a longer name: "fp8" for "fp8_e4m3"
    }
    if (distance < best_distance && distance < std::max(word.size(), candidate.size())) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  if (const auto near = nearest(word, candidates)) return fmt::format("; did you mean '{}'?", *near);
  if (candidates.empty()) return {};
  return fmt::format("; known: {}", join(candidates, ", "));
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts.begin(), parts.end(), separator));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t start = 0;;) {
    const std::size_t end = text.find(separator, start);
    parts.emplace_back(text.substr(start, end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string shown_text(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::size_t end = std::min(text.size(), longest);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // whole UTF-8
  std::string shown = "'";
  for (const char c : text.substr(0, end)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') shown += "\\n";
    else if (byte < 0x20 || byte == 0x7F) shown += fmt::format("\\x{:02x}", byte);
    else shown += c;
  }
  return shown + (end < text.size() ? "...'" : "'");
}

std::string with_thousands(long long value) {
  std::string digits = std::to_string(value);
  const std::size_t first = digits.front() == '-' ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string with_si(double value, std::string_view unit) {
  static constexpr std::array large{"", "k", "M", "G", "T", "P", "E"};
  static constexpr std::array small{"", "m", "u", "n", "p"};
  if (value == 0 || !std::isfinite(value)) return fmt::format("{} {}", value, unit);
  std::size_t step = 0;
  if (std::abs(value) >= 1) {
    while (std::abs(value) >= 999.5 && step + 1 < large.size()) value /= 1000, ++step;
    return fmt::format("{:.3g} {}{}", value, large[step], unit);
  }
  while (std::abs(value) < 1 && step + 1 < small.size()) value *= 1000, ++step;
  return fmt::format("{:.3g} {}{}", value, small[step], unit);
}

std::string with_binary(double bytes) {
  static constexpr std::array prefixes{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t step = 0;
  while (std::abs(bytes) >= 1024 && step + 1 < prefixes.size()) bytes /= 1024, ++step;
  return fmt::format("{:.4g} {}", bytes, prefixes[step]);
}

}  // namespace tilescope
