#include "cli/output/fit.h"

#include "base/text.h"

namespace tilescope::cli {
namespace {

// Length in bytes of the character at `at`, with the escape sequences before it.
std::size_t character(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end + 1 < text.size() && text[end] == '\x1b') {
    end = text.find('m', end);
    if (end == std::string_view::npos) return text.size() - at;
    ++end;
  }
  if (end < text.size()) ++end;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return end - at;
}

// Removes and returns the first line, at most `width` wide, of a `text` that is wider. Unless `words_only`, a word
// wider than `width` is cut, after one of _ , ; / where possible.
std::string take_line(std::string_view& text, std::size_t width, bool words_only) {
  std::size_t end = 0, after_word = 0, after_sign = 0;
  const std::size_t indent = std::min(text.find_first_not_of(' '), text.size());
  for (std::size_t shown = 0; end < text.size() && shown < width; ++shown) {
    end += character(text, end);
    if (text[end - 1] == ' ' && end > indent) after_word = end;
    else if (std::string_view("_,;/").find(text[end - 1]) != std::string_view::npos) after_sign = end;
  }
  if (end < text.size() && text[end] == ' ') after_word = end;  // the line is full, and a word ends there
  const std::size_t cut = after_word > 0 ? after_word : after_sign > 0 && !words_only ? after_sign : end;
  std::string line(text.substr(0, cut));
  line.erase(line.find_last_not_of(' ') + 1);
  text.remove_prefix(cut);
  while (text.starts_with(' ')) text.remove_prefix(1);
  return line;
}

}  // namespace

std::size_t shown_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size(); ++width) {
    const std::size_t bytes = character(text, at);
    if (at + bytes == text.size() && text[at] == '\x1b' && text.back() == 'm') break;  // only a code is left
    at += bytes;
  }
  return width;
}

std::vector<std::string> folded(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (shown_width(text) > width) lines.push_back(take_line(text, width, false));
  lines.emplace_back(text);
  return lines;
}

std::string fitted(std::string_view text, std::size_t width) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    const bool ended = end < text.size();
    text.remove_prefix(ended ? end + 1 : end);
    const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
    const std::string indent(std::min(blanks + 2, width / 2), ' ');
    bool first = true;
    while (shown_width(line) + (first ? 0 : indent.size()) > width) {
      if (!first) out += indent;
      out += take_line(line, first ? width : width - indent.size(), true) + "\n";
      first = false;
    }
    if (!first) out += indent;
    out += line;
    if (ended) out += "\n";
  }
  return out;
}

}  // namespace tilescope::cli
