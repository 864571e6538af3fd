#include "draw/utf8.h"

#include <algorithm>

#include "draw/canvas.h"

namespace tilescope::draw {
namespace {

constexpr char32_t replacement = 0xfffd;

bool allowed(char32_t c) {
  return c >= 0x20 && !(c >= 0x7f && c < 0xa0) && !(c >= 0xd800 && c < 0xe000) && (c & 0xfffe) != 0xfffe &&
         c <= 0x10ffff;
}

// The character at `at`, which moves behind it; behind one byte where that begins no character.
char32_t next(std::string_view text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0x80) return first;
  const int more = first >= 0xf0 && first < 0xf5   ? 3
                   : first >= 0xe0 && first < 0xf0 ? 2
                   : first >= 0xc2 && first < 0xe0 ? 1
                                                   : 0;
  if (more == 0 || at + static_cast<std::size_t>(more) > text.size()) return replacement;
  char32_t c = first & (0x3fu >> more);
  for (int i = 0; i < more; ++i) {
    const auto byte = static_cast<unsigned char>(text[at + static_cast<std::size_t>(i)]);
    if ((byte & 0xc0) != 0x80) return replacement;
    c = (c << 6) | (byte & 0x3fu);
  }
  static constexpr char32_t least[] = {0, 0x80, 0x800, 0x10000};
  if (c < least[more]) return replacement;
  at += static_cast<std::size_t>(more);
  return c;
}

}  // namespace

std::u32string decoded(std::string_view text) {
  std::u32string all;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next(text, at);
    all += c == '\n' || c == '\t' || c == '\r' ? U' ' : allowed(c) ? c : replacement;
  }
  return all;
}

std::string encoded(std::u32string_view characters) {
  std::string text;
  const auto tail = [&](char32_t c, int shift) { text += static_cast<char>(0x80 | ((c >> shift) & 0x3f)); };
  for (const char32_t c : characters) {
    if (c < 0x80) text += static_cast<char>(c);
    else if (c < 0x800) text += static_cast<char>(0xc0 | (c >> 6)), tail(c, 0);
    else if (c < 0x10000) text += static_cast<char>(0xe0 | (c >> 12)), tail(c, 6), tail(c, 0);
    else text += static_cast<char>(0xf0 | (c >> 18)), tail(c, 12), tail(c, 6), tail(c, 0);
  }
  return text;
}

std::string xml_text(std::string_view text) {
  std::string escaped;
  for (const char c : encoded(decoded(text))) {
    if (c == '&') escaped += "&amp;";
    else if (c == '<') escaped += "&lt;";
    else if (c == '>') escaped += "&gt;";
    else if (c == '"') escaped += "&quot;";
    else if (c == '\'') escaped += "&#39;";
    else escaped += c;
  }
  return escaped;
}

std::string shortened(std::string_view text, std::size_t most) {
  std::u32string characters = decoded(text);
  if (characters.size() > most) characters.resize(most - 1), characters += U'\u2026';
  return encoded(characters);
}

std::vector<std::string> wrapped(std::string_view text, std::size_t most) {
  const std::u32string all = decoded(text);
  std::vector<std::string> lines;
  for (std::size_t from = 0; from < all.size();) {
    std::size_t end = std::min(all.size(), from + most);
    if (end < all.size()) {
      std::size_t at = end;
      while (at > from + most / 3 && all[at - 1] != U' ' && all[at - 1] != U'_') --at;
      if (at > from + most / 3) end = at;
    }
    std::u32string piece = all.substr(from, end - from);
    while (!piece.empty() && piece.back() == U' ') piece.pop_back();
    lines.push_back(encoded(piece));
    from = end;
  }
  if (lines.empty()) lines.emplace_back();
  return lines;
}

}  // namespace tilescope::draw
