#include "draw/derivation_page.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "base/files.h"
#include "draw/canvas.h"
#include "draw/page_style.h"
#include "draw/style.h"
#include "draw/test_xml.h"

namespace tilescope::derivation_page_test {
namespace {

// From <body> on: the head has elements that HTML does not close.
std::string body(const std::string& html) {
  const std::size_t from = html.find("<body>"), to = html.find("</body>");
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  return html.substr(from, to - from + 7);
}

DerivationPage page_of(const std::string& text) {
  PageTable table{.title = text, .columns = {"level", text}, .rows = {{"hbm", "1,024"}, {text, "7"}, {"l2"}}};
  PageSection section{
      .heading = text, .paragraphs = {text, "second"}, .listings = {"  a\n\n    b " + text + "\n"}, .tables = {table}};
  return {.title = text, .summary = text, .pictures = {{"<svg></svg>", text}}, .sections = {section, section}};
}

TEST_CASE("a page of a derivation holds pictures, paragraphs, listings and tables in order") {
  const std::string html = derivation_page(page_of("Attention"));
  CHECK(test::xml_finding(body(html)) == "");
  std::size_t at = 0;
  for (const char* part :
       {"<title>Attention</title>", "<h1>Attention</h1>", "<svg></svg>", "<figcaption>Attention</figcaption>",
        "<h2 id=\"section-1\">", "<p>second</p>", "<pre tabindex=\"0\">\n  a\n\n    b Attention\n</pre>",
        "<th scope=\"col\">level</th>", "<td>1,024</td>", "<td>7</td>", "<td></td>", "<h2 id=\"section-2\">"}) {
    const std::size_t found = html.find(part, at);
    CHECK_MESSAGE(found != std::string::npos, part);
    at = found == std::string::npos ? at : found;
  }
}

TEST_CASE("a column of numbers is right-aligned") {
  DerivationPage page{
      .sections = {
          {.heading = "h", .tables = {{.columns = {"a", "b", "c"}, .rows = {{"1", "2.5", "x"}, {"2", "-1e9", "3"}}}}}}};
  const std::string html = derivation_page(page);
  CHECK(html.find("<th scope=\"row\">1</th><td class=\"n\">2.5</td><td>x</td>") != std::string::npos);
}

TEST_CASE("hostile text in a page is escaped") {
  const std::string hostile = "</pre></script><script>x()</script><img src=x onerror='y()'>\" & \xff\x01";
  const std::string html = derivation_page(page_of(hostile));
  CHECK(test::xml_finding(body(html)) == "");
  CHECK(html.find("<script") == std::string::npos);
  CHECK(html.find("<img") == std::string::npos);
  CHECK(html.find('\x01') == std::string::npos);
}

TEST_CASE("a page loads no other file, and an empty page is valid") {
  const std::string html = derivation_page({});
  CHECK(test::xml_finding(body(html)) == "");
  CHECK(html.find("default-src 'none'") != std::string::npos);
  CHECK(html.find("http:") == std::string::npos);
  CHECK(html.find("https:") == std::string::npos);
}

TEST_CASE("a row with more cells than columns is refused") {
  DerivationPage page{.sections = {{.heading = "h", .tables = {{.columns = {"a"}, .rows = {{"1", "2"}}}}}}};
  CHECK_THROWS_AS(derivation_page(page), std::invalid_argument);
}

// The report's style sheet is the source of colours and type; this page must equal it.
TEST_CASE("colours and type of the page are the report's") {
  const std::string report = read_file(std::string(TILESCOPE_SOURCE_DIR) + "/reports/assets/page.css"),
                    page = draw::page_style, picture = draw::picture_style();
  for (const char* name :
       {"--paper", "--canvas", "--ink", "--ink-2", "--rule", "--grid", "--accent", "--body", "--mono"}) {
    std::size_t from = 0, here = 0;
    for (const char* scheme : {"light", "dark"}) {
      from = report.find(std::string(name) + ": ", from);
      here = page.find(std::string(name) + ": ", here);
      if (from == std::string::npos && std::string(scheme) == "dark") break;  // fonts have no dark variant
      REQUIRE(from != std::string::npos);
      REQUIRE_MESSAGE(here != std::string::npos, name);
      CHECK_MESSAGE(
          report.substr(from, report.find(';', from) - from) == page.substr(here, page.find(';', here) - here),
          name << " " << scheme);
      ++from, ++here;
    }
  }
  for (const char* colour : {"#1d2127", "#e9ebee", "#b05c00", "#f0a455", "#0b5fa5", "#6cb2f4", "#ffffff", "#181b20"}) {
    CHECK_MESSAGE(picture.find(colour) != std::string::npos, colour);
    CHECK_MESSAGE(report.find(colour) != std::string::npos, colour);
  }
}

TEST_CASE("text is cut and broken at whole characters") {
  CHECK(draw::shortened("abcdef", 6) == "abcdef");
  CHECK(draw::shortened("abcdefg", 6) == "abcde\xe2\x80\xa6");
  CHECK(draw::shortened("\xc3\xa4\xc3\xb6\xc3\xbc", 2) == "\xc3\xa4\xe2\x80\xa6");
  CHECK(draw::wrapped("probability_gradient of all", 14) ==
        std::vector<std::string>{"probability_", "gradient of", "all"});
  CHECK(draw::wrapped("", 5) == std::vector<std::string>{""});
  CHECK(draw::wrapped("aaaaaaaaaaaa", 5) == std::vector<std::string>{"aaaaa", "aaaaa", "aa"});
  CHECK(draw::xml_text("a\xf0\x9f\x98\x80<\xf0\x9f") == "a\xf0\x9f\x98\x80&lt;\xef\xbf\xbd\xef\xbf\xbd");
}

}  // namespace
}  // namespace tilescope::derivation_page_test
