// Small text helpers shared by every message.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope {

// The candidate nearest to `word` by edit distance (case ignored), if near enough to be a likely typo; a candidate that
// `word` begins counts as near.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

// "; did you mean 'x'?" when there is a near candidate, else "; known: a, b, c".
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

std::string join(std::span<const std::string> parts, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trimmed(std::string_view text);

// 'text' in quotes for a one-line message: escaped as `one_line` does, at most about 60 bytes, then "...".
std::string shown_text(std::string_view text);

// Length of the UTF-8 character that `text` begins with; 0: it begins with none. Surrogates, overlong forms and values
// above U+10FFFF are none.
std::size_t utf8_length(std::string_view text);
bool is_utf8(std::string_view text);

// The text with bytes that are not UTF-8 replaced by U+FFFD.
std::string as_utf8(std::string_view text);

// Text that came from outside, fit for one line of a terminal: control characters, characters that change the direction
// of writing and bytes that are not UTF-8 are escaped as \n, \x1b, ... ; of words over 300 bytes the first 60 remain.
std::string one_line(std::string_view text);

// The same for text of many lines: line ends, tabs and the sequences of our own colours stay.
std::string many_lines(std::string_view text);

// 69222400 -> "69,222,400".
std::string with_thousands(long long value);

// Decimal units: 4.8e12 with unit "B/s" -> "4.80 TB/s".
std::string with_si(double value, std::string_view unit);

// Binary units for capacities: 233472 -> "228 KiB"; exact bytes below 1 KiB.
std::string with_binary(double bytes);

}  // namespace tilescope
