#include "base/text.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

namespace text_test {

using namespace tilescope;

TEST_CASE("a misspelt word is matched to the nearest known word, and an unrelated word has no match") {
  const std::vector<std::string> words{"capacity", "bandwidth", "fp8_e4m3", "fp32"};
  CHECK(nearest("bandwith", words) == "bandwidth");
  CHECK(nearest("CAPACITY", words) == "capacity");
  CHECK(nearest("fp8", words) == "fp8_e4m3");  // a name that starts with the word is preferred to fp32
  CHECK_FALSE(nearest("launch", words).has_value());
  CHECK_FALSE(nearest(std::string(1000, 'c'), words).has_value());
  CHECK_FALSE(nearest("x", {}).has_value());
}

TEST_CASE("a suggestion names one word, or all words, or nothing") {
  const std::vector<std::string> words{"read", "write"};
  CHECK(did_you_mean("raed", words) == "; did you mean 'read'?");
  CHECK(did_you_mean("zzzzzz", words) == "; known: read, write");
  CHECK(did_you_mean("raed", {}) == "");
  std::vector<std::string> many;
  for (int i = 1000; i < 2000; ++i) many.push_back(fmt::format("name_{}", i));
  const std::string shown = did_you_mean("zzzzzz", many);
  CHECK(shown.starts_with("; known: name_1000, name_1001, "));
  CHECK(shown.ends_with(", ... (1000 in all)"));
  CHECK(shown.size() < 1600);
}

TEST_CASE("split and join are inverse, and trimming removes characters at the ends only") {
  for (const std::string text : {"", ",", "a", "a,b", ",a,,b,"}) CHECK(join(split(text, ','), ",") == text);
  CHECK(split("a,,b", ',') == std::vector<std::string>{"a", "", "b"});
  CHECK(trimmed(" \t a b \r\n") == "a b");
  CHECK(trimmed("  ") == "");
}

TEST_CASE("text in a message is quoted, shortened and on one line") {
  CHECK(shown_text("plain") == "'plain'");
  CHECK(shown_text("a\nb\x01") == "'a\\nb\\x01'");
  CHECK(shown_text(std::string(61, 'x')) == "'" + std::string(60, 'x') + "...'");
  CHECK(shown_text(std::string(59, 'x') + "é") == "'" + std::string(59, 'x') + "...'");  // a UTF-8 character is not cut
}

TEST_CASE("UTF-8 is told from bytes that are none") {
  CHECK(is_utf8("plain é ↔ \xF0\x9F\x98\x80"));
  for (const char* bytes : {"\xFF", "\xC3", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "a\x80"}) {
    CAPTURE(one_line(bytes));
    CHECK_FALSE(is_utf8(bytes));
    CHECK(is_utf8(as_utf8(bytes)));
  }
  CHECK(as_utf8("a\xFFz") == "a\uFFFDz");
}

TEST_CASE("text from outside cannot steer a terminal") {
  CHECK(one_line("a\x1b[31mb\nc\r") == "a\\x1b[31mb\\nc\\x0d");
  CHECK(one_line("\xED\xA0\x80") == "\\xed\\xa0\\x80");
  CHECK(one_line("\u202Eabc \u0085") == "\\xe2\\x80\\xaeabc \\xc2\\x85");
  CHECK(one_line("two  words é") == "two  words é");
  CHECK(one_line(std::string(100000, 'a') + " end") == std::string(60, 'a') + "... (100000 bytes) end");
  CHECK(many_lines("a\tb\n\x1b[31mred\x1b[0m") == "a\tb\n\x1b[31mred\x1b[0m");
  CHECK(many_lines("\x1b[2J\x1b]0;title\x07") == "\\x1b[2J\\x1b]0;title\\x07");
}

TEST_CASE("numbers are grouped and scaled with their unit") {
  CHECK(with_thousands(0) == "0");
  CHECK(with_thousands(-999) == "-999");
  CHECK(with_thousands(-1000) == "-1,000");
  CHECK(with_thousands(69222400) == "69,222,400");
  CHECK(with_si(4.8e12, "B/s") == "4.8 TB/s");
  CHECK(with_si(999.6, "B") == "1 kB");
  CHECK(with_si(2.5e-6, "s") == "2.5 us");
  CHECK(with_si(0, "s") == "0 s");
  CHECK(with_binary(100) == "100 B");
  CHECK(with_binary(233472) == "228 KiB");
  CHECK(with_binary(126.5 * 1024 * 1024) == "126.5 MiB");
}

}  // namespace text_test
