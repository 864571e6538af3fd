#include "base/escape.h"

#include <doctest/doctest.h>

#include <random>

#include "base/test_seed.h"
#include "base/text.h"
#include "draw/test_xml.h"

namespace escape_test {

using namespace tilescope;

namespace {

// Pieces that escape badly, beside random bytes.
std::string hostile_text(std::mt19937& random) {
  static const std::vector<std::string> pieces{"=",
                                               "+",
                                               "-",
                                               "@",
                                               "\t",
                                               "\r",
                                               "\n",
                                               "\"",
                                               ",",
                                               "'",
                                               "<b>",
                                               "</",
                                               "<!--",
                                               "&",
                                               "]]>",
                                               "](",
                                               "[x](",
                                               "|",
                                               "`",
                                               "```",
                                               "\\",
                                               "\x1b[2J",
                                               "\xED\xA0\x80",
                                               "\xEF\xBF\xBE",
                                               "\xE2\x80\xAE",
                                               "\xC3",
                                               "1",
                                               "e5",
                                               " ",
                                               "SUM(A1)",
                                               "a"};
  std::string text;
  for (std::size_t left = random() % 8; left > 0; --left)
    text += random() % 5 == 0 ? std::string(1, static_cast<char>(random())) : pieces[random() % pieces.size()];
  return text;
}

// What a reader of CSV (RFC 4180) sees in a line of one cell; nothing where the line has more or is malformed.
std::optional<std::string> read_cell(const std::string& cell) {
  if (!cell.starts_with('"'))
    return cell.find_first_of(",\"\r\n") == std::string::npos ? std::optional(cell) : std::nullopt;
  std::string text;
  for (std::size_t at = 1; at < cell.size(); ++at) {
    if (cell[at] != '"') text += cell[at];
    else if (at + 1 == cell.size()) return text;
    else if (cell[at + 1] == '"') text += '"', ++at;
    else return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("a cell of CSV holds the text, and begins no formula") {
  CHECK(csv_escaped("=1+1") == "'=1+1");
  CHECK(csv_escaped("-1e-5") == "-1e-5");
  CHECK(csv_escaped("@x,y") == "\"'@x,y\"");
  std::mt19937 random(test_seed());
  for (int i = 0; i < 5000; ++i) {
    const std::string text = hostile_text(random);
    CAPTURE(text);
    const auto cell = read_cell(csv_escaped(text));
    REQUIRE(cell);
    const bool is_quoted = *cell == "'" + text;
    CHECK((is_quoted || *cell == text));
    if (is_quoted || text.size() < 2) continue;
    char* end = nullptr;
    std::strtod(text.c_str(), &end);
    CHECK((std::string_view("=+-@\t\r").find(text[0]) == std::string_view::npos || *end == '\0'));
  }
}

TEST_CASE("escaped text is XML and UTF-8 whatever it holds") {
  CHECK(xml_escaped("a<b>&\"c\"\n") == "a&lt;b&gt;&amp;&quot;c&quot; ");
  CHECK(xml_escaped("\x1b\xED\xA0\x80") == "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  std::mt19937 random(test_seed());
  for (int i = 0; i < 5000; ++i) {
    const std::string text = hostile_text(random), xml = xml_escaped(text);
    CAPTURE(text);
    CHECK(is_utf8(xml));
    CHECK(test::xml_finding("<a b=\"" + xml + "\">" + xml + "</a>") == "");
  }
}

TEST_CASE("Markdown has no tag and no link but in code blocks; comparisons, tables and headings stay") {
  CHECK(safe_markdown("a <b> [x](http://y) < 1 %\n") == "a &lt;b> [x]\\(http://y) < 1 %\n");
  CHECK(safe_markdown("### t\n\n| a | &lt;b> |\n") == "### t\n\n| a | &lt;b> |\n");
  CHECK(safe_markdown("```text\nfor <x> in [a](b)\n```\n<x>") == "```text\nfor <x> in [a](b)\n```\n&lt;x>");
  CHECK(safe_markdown("```a``` <b>") == "```a``` &lt;b>");  // a line of code, no block
  CHECK(safe_markdown("\\<b>") == "\\<b>");
  CHECK(safe_markdown("\\\\<b>") == "\\\\&lt;b>");
  std::mt19937 random(test_seed());
  for (int i = 0; i < 5000; ++i) {
    std::string text = hostile_text(random);
    std::erase(text, '`'), std::erase(text, '\\');
    CAPTURE(text);
    const std::string safe = safe_markdown(text);
    for (const char* open : {"<b", "</", "<!", "]("}) CHECK(safe.find(open) == std::string::npos);
    CHECK(safe_markdown(safe) == safe);
  }
}

}  // namespace escape_test
