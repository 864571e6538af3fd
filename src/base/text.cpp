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

// Controls of one and of two bytes, and characters that turn the direction of writing (U+202A-E, U+2066-9).
bool steers_terminal(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (character.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
  return character.size() == 3 && byte(0) == 0xE2 &&
         ((byte(1) == 0x80 && byte(2) >= 0xAA && byte(2) <= 0xAE) ||
          (byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9));
}

// Appends the first character of `text`, escaped where it has to be; how many bytes it took.
std::size_t append_escaped(std::string& out, std::string_view text) {
  const std::size_t length = utf8_length(text);
  const std::string_view character = text.substr(0, std::max<std::size_t>(1, length));
  if (character == "\n") out += "\\n";
  else if (length == 0 || steers_terminal(character))
    for (const char c : character) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  else out += character;
  return character.size();
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
  constexpr std::size_t most = 1500;  // characters that are still read
  std::size_t shown = 0, length = 0;
  while (shown < candidates.size() && length + candidates[shown].size() <= most)
    length += candidates[shown++].size() + std::string_view(", ").size();
  const std::string more = shown < candidates.size() ? fmt::format(", ... ({} in all)", candidates.size()) : "";
  return fmt::format("; known: {}{}", join(candidates.first(shown), ", "), more);
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
  for (std::size_t at = 0; at < end;) at += append_escaped(shown, text.substr(at, end - at));
  return shown + (end < text.size() ? "...'" : "'");
}

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return text.empty() ? 0 : 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF)
    return follows(1) && follows(2) && !(first == 0xE0 && second < 0xA0) && !(first == 0xED && second > 0x9F) ? 3 : 0;
  if (first >= 0xF0 && first <= 0xF4)
    return follows(1) && follows(2) && follows(3) && !(first == 0xF0 && second < 0x90) &&
                   !(first == 0xF4 && second > 0x8F)
               ? 4
               : 0;
  return 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string as_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    out += length == 0 ? "\xEF\xBF\xBD" : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out;
}

std::string one_line(std::string_view text) {
  constexpr std::size_t longest_word = 300, kept = 60;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::size_t shown = end - at > longest_word ? at + kept : end;
    while (at < shown) at += append_escaped(out, text.substr(at, end - at));
    if (shown < end) out += fmt::format("... ({} bytes)", end - shown + kept);
    at = end;
    if (at < text.size()) out += text[at++];
  }
  return out;
}

std::string many_lines(std::string_view text) {
  constexpr std::array<std::string_view, 3> colours{"\x1b[0m", "\x1b[1m", "\x1b[31m"};
  std::string out;
  while (!text.empty()) {
    const auto colour =
        std::find_if(colours.begin(), colours.end(), [&](std::string_view each) { return text.starts_with(each); });
    if (colour != colours.end()) out += *colour, text.remove_prefix(colour->size());
    else if (text[0] == '\n' || text[0] == '\t') out += text[0], text.remove_prefix(1);
    else text.remove_prefix(append_escaped(out, text));
  }
  return out;
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
