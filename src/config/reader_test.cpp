#include "config/reader.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "base/error.h"

namespace reader_test {

using namespace tilescope;

namespace {

// All findings of reading `text` with `read`, as printed for the user; "" if there is none.
template <class Read>
std::string findings(const std::string& text, Read read) {
  try {
    const Document document = Document::parse(text, "f.yaml");
    read(document.root());
    document.finish();
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

std::string parse_findings(const std::string& text) {
  return findings(text, [](const Node&) {});
}

std::string times(std::size_t count, const std::string& text) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("a valid document yields its values and no finding") {
  const Document document = Document::parse(
      "schema: s/1\nname: A10\nunits: 72\nscale: -1.5e-3\nopen: true\nrate: {value: 600 GB/s}\nlist:\n  - a\n  - b\n",
      "f.yaml");
  document.expect_schema("s/1");
  const Node root = document.root();
  root.only({"schema", "name", "units", "scale", "open", "rate", "list"});
  CHECK(root["name"].text() == "A10");
  CHECK(root["name"].one_of({"A100", "A10"}) == "A10");
  CHECK(root["units"].integer(1, 100) == 72);
  CHECK(root["scale"].number(-1, 1) == -0.0015);
  CHECK(root["open"].boolean());
  CHECK(root["rate"]["value"].quantity(Dimension::bytes_per_second) == 600e9);
  REQUIRE(root["list"].items().size() == 2);
  CHECK(root["list"].items()[1].text() == "b");
  CHECK(root["list"].items()[1].path() == "list[1]");
  CHECK(root.entries()[0].first == "schema");
  CHECK_FALSE(root.find("absent").has_value());
  CHECK(document.clean());
  CHECK_NOTHROW(document.finish());
}

TEST_CASE("a duplicate key is a finding that names both places, and the first value is kept") {
  const Document document = Document::parse("a:\n  b: 1\n  c: 2\n  b: {d: 3}\n", "f.yaml");
  CHECK(document.root()["a"]["b"].integer(0, 9) == 1);
  CHECK(document.root()["a"].entries().size() == 2);
  CHECK_THROWS_WITH_AS(document.finish(), "f.yaml:4:3: error: a.b: duplicate key, first given on line 2; keep one",
                       InputError);
}

TEST_CASE("a missing key is reported at the key that opens its map") {
  CHECK(findings("x: 1\nouter:\n  inner: 1\n", [](const Node& root) { root["outer"]["speed"].integer(0, 1); }) ==
        "f.yaml:2:1: error: outer.speed: is missing; add this key");
  CHECK(findings("x: 1\n", [](const Node& root) { root["a"]["b"]["c"].text(); }) ==
        "f.yaml:1:1: error: a: is missing; add this key");
}

TEST_CASE("an unknown key is a finding with a suggestion") {
  const auto only = [](const Node& root) { root.only({"capacity", "bandwidth"}); };
  CHECK(findings("capacity: 1\nbandwith: 2\n", only) ==
        "f.yaml:2:1: error: bandwith: unknown key; did you mean 'bandwidth'?");
  CHECK(findings("zzz: 2\n", only) == "f.yaml:1:1: error: zzz: unknown key; known: capacity, bandwidth");
}

TEST_CASE("all findings of a file are reported together, in the order of lines, each once") {
  const std::string text = findings("a: x\nb: yes\na: 2\n", [](const Node& root) {
    root["b"].boolean();
    root["b"].boolean();
    root["a"].integer(0, 9);
  });
  CHECK(text ==
        "f.yaml:1:4: error: a: expected an integer from 0 to 9, found 'x'\n"
        "f.yaml:2:4: error: b: expected true or false, found 'yes'\n"
        "f.yaml:3:1: error: a: duplicate key, first given on line 1; keep one");
}

TEST_CASE("integers are plain decimal digits within their range") {
  const auto message = [](const std::string& value) {
    return findings("n: " + value + "\n", [](const Node& root) { root["n"].integer(1, 1024); });
  };
  CHECK(message("1024").empty());
  for (const std::string value : {"010", "0x10", "1_000", "+5", "5.0", "1e3", "-1", "0", "1025", "yes", ".nan", "1 2",
                                  "99999999999999999999", "0o17", "1,000"}) {
    CAPTURE(value);
    CHECK(message(value) == "f.yaml:1:4: error: n: expected an integer from 1 to 1024, found '" + value + "'");
  }
  CHECK(message("\"7\"") == "f.yaml:1:4: error: n: expected an integer from 1 to 1024, found the text '7'");
  CHECK(message("[7]") == "f.yaml:1:4: error: n: expected an integer from 1 to 1024, found a list");
  CHECK(message("{a: 7}") == "f.yaml:1:4: error: n: expected an integer from 1 to 1024, found a map");
  CHECK(message("~") == "f.yaml:1:1: error: n: expected an integer from 1 to 1024, found nothing");
  CHECK(findings("n: -0", [](const Node& root) { root["n"].integer(-5, 5); }) ==
        "f.yaml:1:4: error: n: expected an integer from -5 to 5, found '-0'");
}

TEST_CASE("numbers are finite decimals within their range") {
  const auto message = [](const std::string& value) {
    return findings("n: " + value + "\n",
                    [](const Node& root) { root["n"].number(0, std::numeric_limits<double>::infinity()); });
  };
  CHECK(message("0.25").empty());
  for (const std::string value :
       {".nan", ".inf", "-.inf", "nan", "inf", "1e999", "010", ".5", "1.", "-1", "0x1p3", "yes"}) {
    CAPTURE(value);
    CHECK(message(value) == "f.yaml:1:4: error: n: expected a number of at least 0, found '" + value + "'");
  }
}

TEST_CASE("booleans are exactly true or false") {
  const auto message = [](const std::string& value) {
    return findings("b: " + value + "\n", [](const Node& root) { root["b"].boolean(); });
  };
  CHECK(message("false").empty());
  for (const std::string value : {"yes", "no", "on", "True", "1", "y"}) {
    CAPTURE(value);
    CHECK(message(value) == "f.yaml:1:4: error: b: expected true or false, found '" + value + "'");
  }
  CHECK(message("'true'") == "f.yaml:1:4: error: b: expected true or false, found the text 'true'");
}

TEST_CASE("an empty text is refused, and the error for an unknown choice suggests the nearest one") {
  CHECK(findings("t: ''\n", [](const Node& root) { root["t"].text(); }) ==
        "f.yaml:1:4: error: t: expected text, found the text ''");
  CHECK(findings("t:\n", [](const Node& root) { root["t"].text(); }) ==
        "f.yaml:1:1: error: t: expected text, found nothing");
  CHECK(findings("t: NVIDA\n", [](const Node& root) {
          root["t"].one_of({"NVIDIA", "AMD"});
        }) == "f.yaml:1:4: error: t: expected one of NVIDIA, AMD, found 'NVIDA'; did you mean 'NVIDIA'?");
}

TEST_CASE("a value of the wrong kind is one finding, and its children are not reported") {
  CHECK(findings("levels: 3\n",
                 [](const Node& root) {
                   root["levels"].only({"hbm"});
                   root["levels"]["hbm"]["capacity"].quantity(Dimension::bytes);
                   root["levels"].items();
                 }) ==
        "f.yaml:1:9: error: levels: expected a map, found '3'\n"
        "f.yaml:1:9: error: levels: expected a list, found '3'");
}

TEST_CASE("the error for a quantity names the accepted units") {
  const auto message = [](const std::string& value) {
    return findings("q: " + value + "\n", [](const Node& root) { root["q"].quantity(Dimension::hertz); });
  };
  CHECK(message("1980 MHz").empty());
  CHECK(message("1980") ==
        "f.yaml:1:4: error: q: expected a clock frequency as a positive number and a unit (Hz, kHz, MHz, GHz), found "
        "'1980' without a unit");
  CHECK(message("[1]") ==
        "f.yaml:1:4: error: q: expected a clock frequency as a positive number and a unit (Hz, kHz, MHz, GHz), found a "
        "list");
}

TEST_CASE("another schema is a finding that names the expected one") {
  const auto message = [](const std::string& text) {
    try {
      const Document document = Document::parse(text, "f.yaml");
      document.expect_schema("tilescope/hardware/1");
      document.finish();
      return std::string();
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  };
  CHECK(message("schema: tilescope/hardware/2\n") ==
        "f.yaml:1:9: error: schema: expected 'tilescope/hardware/1', found 'tilescope/hardware/2'");
  CHECK(message("a: 1\n") == "f.yaml:1:1: error: schema: is missing; add this key");
  CHECK(message("- a\n") == "f.yaml:1:1: error: expected a map, found a list");
}

TEST_CASE("anchors, aliases, tags and merge keys are refused") {
  CHECK(parse_findings("a: &x 1\nb: *x\n") ==
        "f.yaml:1:4: error: anchor '&x' is not allowed; write each value out\n"
        "f.yaml:2:4: error: an alias is not allowed; write the value out");
  CHECK(
      parse_findings("a: !!int 1\n").find("error: tag 'tag:yaml.org,2002:int' is not allowed; write the plain value") !=
      std::string::npos);
  CHECK(parse_findings("a:\n  <<: {b: 1}\n") ==
        "f.yaml:2:3: error: a merge key '<<' is not allowed; write the keys out");
}

TEST_CASE("keys are non-empty text") {
  CHECK(parse_findings("? [a, b]\n: 1\n") == "f.yaml:1:3: error: a key must be text, found a map or list");
  CHECK(parse_findings("~: 1\n") == "f.yaml:1:1: error: a key must be text, found nothing");
  CHECK(parse_findings("'': 1\n") == "f.yaml:1:1: error: a key must not be empty");
}

TEST_CASE("a document after the first is refused") {
  CHECK(parse_findings("---\na: 1\n").empty());
  CHECK(parse_findings("a: 1\n---\nb: 2\n").find("a second document starts here; keep one document in a file") !=
        std::string::npos);
}

TEST_CASE("an empty file is reported as empty") {
  for (const std::string text : {"", "\n\n", "# only a comment\n", "---\n"}) {
    CAPTURE(text);
    CHECK(parse_findings(text) == "f.yaml: error: is empty; expected a YAML document");
  }
}

TEST_CASE("tabs, control characters and bytes that are not text are refused with their place") {
  CHECK(parse_findings("a: 1\nb:\t2\n") == "f.yaml:2:3: error: holds a tab; indent and separate with spaces");
  CHECK(parse_findings(std::string("a: 1\n\0", 6)) ==
        "f.yaml:2:1: error: holds a control character; expected a YAML text file");
  CHECK(parse_findings("a: \xff\xfe\n") == "f.yaml:1:4: error: is not UTF-8 text; expected a YAML file");
  CHECK(parse_findings("\x7f"
                       "ELF\x02") == "f.yaml:1:1: error: holds a control character; expected a YAML text file");
  CHECK(parse_findings("name: Grüße\n").empty());
}

TEST_CASE("text that is not YAML is reported with its line") {
  CHECK(parse_findings("a: [1, 2\nb: 3\n").rfind("f.yaml:", 0) == 0);
  CHECK(parse_findings("a: [1, 2\nb: 3\n").find("is not valid YAML") != std::string::npos);
  CHECK(parse_findings("a: 1\nb: 'x\n") == "f.yaml:2:4: error: is not valid YAML: this quote is never closed");
  CHECK(parse_findings("a: \"x\nb: 1").find("is not valid YAML") != std::string::npos);
  CHECK(parse_findings("a: b: c\n").find("f.yaml:1:5: error: is not valid YAML") == 0);
  CHECK(parse_findings("b: *missing\n").find("is not valid YAML") != std::string::npos);
}

TEST_CASE("a plain value over several lines is refused, and a folded or quoted one is accepted") {
  CHECK(parse_findings("a: one\n  two\n") ==
        "f.yaml:1:4: error: 'one two' runs over several lines; use quotes, or '>-' before it");
  CHECK(parse_findings("a: {äöü€𝄞: ä b, c: dß d, e: [ü, ü x]}\n").empty());
  CHECK(parse_findings("\xef\xbb\xbf"
                       "a: b\n")
            .empty());
  CHECK(parse_findings("a: >-\n  one\n  two\nb: \"one\n  two\"\nc: |\n  one\n\n  two\n").empty());
}

TEST_CASE("a control character that is written as an escape is refused") {
  CHECK(parse_findings("a: \"x\\0y\"\n") == "f.yaml:1:4: error: holds a control character; remove the escape");
}

TEST_CASE("nesting is limited to 64 levels") {
  CHECK(parse_findings(times(64, "[") + times(64, "]")).empty());
  CHECK(parse_findings(times(65, "[") + times(65, "]")) == "f.yaml:1:65: error: nested deeper than 64 levels");
  CHECK(parse_findings(times(100000, "[")).find("error: ") != std::string::npos);
  CHECK(parse_findings(times(100000, "- ")).find("nested deeper than 64 levels") != std::string::npos);
  CHECK(parse_findings(times(100000, "{a: ")).find("error: ") != std::string::npos);
}

TEST_CASE("an alias bomb is refused without being expanded") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last + times(7, ", " + last) + "]\n";
  }
  CHECK(parse_findings(bomb).find("an alias is not allowed") != std::string::npos);
}

TEST_CASE("a file with more than 100 findings prints the first 100 and states that there are more") {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "k: 1\n";
  const std::string shown = parse_findings(text);
  CHECK(std::count(shown.begin(), shown.end(), '\n') == 100);
  CHECK(shown.find("f.yaml: error: has more findings, which are not shown") != std::string::npos);
}

TEST_CASE("files over one mebibyte are refused") {
  CHECK(parse_findings("a: " + times(1 << 20, "x")) ==
        "f.yaml: error: is larger than the 1048576 bytes a YAML file may have");
  const auto path = std::filesystem::temp_directory_path() / "tilescope_reader_test_big.yaml";
  std::ofstream(path) << "a: " << times(1 << 20, "x");
  CHECK_THROWS_WITH_AS(Document::load(path),
                       (path.string() + ": error: is larger than the 1048576 bytes this kind of file may have").c_str(),
                       InputError);
  std::filesystem::remove(path);
}

TEST_CASE("a missing file is reported as missing") {
  CHECK_THROWS_WITH_AS(Document::load("no/such.yaml"), "no/such.yaml: error: no such file; check the path", InputError);
}

TEST_CASE("a node stays valid after the document object that it came from is destroyed") {
  const Node root = Document::parse("a: {b: 1}\n", "f.yaml").root();
  CHECK(root["a"]["b"].integer(0, 1) == 1);
}

TEST_CASE("messages stay short if a huge key precedes many findings") {
  const std::string shown =
      findings(times(100000, "k") + ": {x: 1}\n", [](const Node& root) { root.entries()[0].second["y"].text(); });
  CHECK(shown.size() < 300);
}

TEST_CASE("a text that is read again gives the same values and findings; readings do not see each other's findings") {
  const std::string text = "a: {b: [x, y]}\nc: 1\nc: 2\n";
  const auto read = [](const Node& root) {
    root.only({"a"});
    CHECK(root["a"]["b"].items()[1].text() == "y");
    CHECK(root["a"]["b"].items()[1].path() == "a.b[1]");
    CHECK(root["missing"].text().empty());
  };
  const std::string first = findings(text, read);
  CHECK(first.find("duplicate key") != std::string::npos);
  CHECK(findings(text, read) == first);
  const Document one = Document::parse(text, "f.yaml"), other = Document::parse(text, "f.yaml");
  one.root()["a"].report("is wrong");
  CHECK_THROWS_AS(one.finish(), InputError);
  CHECK(other.root()["a"].is_map());
  CHECK(parse_findings(text).find("is wrong") == std::string::npos);
  CHECK(findings("a: {b: [x, y]}\nc: 1\n", read) != first);  // the same file name, another text
}

}  // namespace reader_test
