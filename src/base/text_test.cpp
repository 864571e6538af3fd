#include "base/text.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

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
