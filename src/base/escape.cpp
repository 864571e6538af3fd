#include "base/escape.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/text.h"

namespace tilescope {
namespace {

// A spreadsheet takes such a text for a formula and may run it.
bool is_formula(std::string_view text) {
  if (text.size() < 2 || std::string_view("=+-@\t\r").find(text[0]) == std::string_view::npos) return false;
  const std::string copy(text);
  char* end = nullptr;
  std::strtod(copy.c_str(), &end);
  return end != copy.c_str() + copy.size();
}

// Not in XML 1.0: controls but tab and line ends; U+FFFE and U+FFFF.
bool in_xml(std::string_view character) {
  if (character.size() == 1) {
    const char c = character[0];
    return static_cast<unsigned char>(c) >= 0x20 || c == '\t' || c == '\n';
  }
  return character != "\xEF\xBF\xBE" && character != "\xEF\xBF\xBF";
}

// "<b", "</b", "<!--": what Markdown passes on as HTML. "< 1 %" is text.
bool begins_tag(std::string_view rest) {
  if (rest.size() < 2 || rest[0] != '<') return false;
  const char next = rest[1];
  return std::isalpha(static_cast<unsigned char>(next)) != 0 || next == '/' || next == '!' || next == '?';
}

// Whether `text` ends with a backslash that is not escaped itself.
bool escapes_next(std::string_view text) {
  const std::size_t last = text.find_last_not_of('\\');
  return (text.size() - (last == std::string_view::npos ? 0 : last + 1)) % 2 == 1;
}

std::string safe_line(std::string_view line) {
  std::string out;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (begins_tag(line.substr(at)) && !escapes_next(out)) out += "&lt;";
    else if (line[at] == '(' && out.ends_with(']') && !escapes_next(std::string_view(out).substr(0, out.size() - 1)))
      out += "\\(";
    else out += line[at];
  }
  return out;
}

}  // namespace

std::string csv_escaped(std::string_view text) {
  std::string cell(text);
  if (is_formula(text)) cell.insert(0, "'");
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string xml_escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    if (length == 0 || !in_xml(character)) out += "\xEF\xBF\xBD";
    else if (character == "&") out += "&amp;";
    else if (character == "<") out += "&lt;";
    else if (character == ">") out += "&gt;";
    else if (character == "\"") out += "&quot;";
    else if (character == "\n") out += ' ';
    else out += character;
    text.remove_prefix(character.size());
  }
  return out;
}

std::string safe_markdown(std::string_view text) {
  std::string out;
  std::string_view fence;  // of the block that is open
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const std::string_view ticks = line.substr(0, std::min(line.find_first_not_of('`'), line.size()));
    const bool inside = !fence.empty(), marks = ticks.size() >= 3;
    if (!inside && marks && line.find('`', ticks.size()) == std::string_view::npos) fence = ticks;
    else if (inside && marks && ticks.size() == line.size() && ticks.size() >= fence.size()) fence = {};
    out += inside || !fence.empty() ? std::string(line) : safe_line(line);
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

}  // namespace tilescope
