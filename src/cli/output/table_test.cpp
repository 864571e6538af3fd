// Tables in every format and width.
#include "cli/output/table.h"

#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "base/test_seed.h"
#include "base/text.h"
#include "cli/output/fit.h"
#include "cli/output/prediction_text.h"
#include "cli/output/progress.h"
#include "cli/output/terminal.h"

namespace table_test {

using namespace tilescope;
using namespace tilescope::cli;

namespace {

std::size_t widest_line(const std::string& text) {
  std::size_t width = 0;
  for (const std::string& line : split(text, '\n')) width = std::max(width, shown_width(line));
  return width;
}

// `text` without blanks and line ends, to compare two layouts.
std::string letters(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' && c != '\n' && c != '-') out += c;
  return out;
}

struct Row {
  int bytes = 0;
};

}  // namespace

TEST_CASE("a column added to a table is in its JSON, CSV, text, Markdown and documentation") {
  Columns<Row> columns{{{"bytes", "bytes moved", "B", "Bytes.", Origin::loops}, [](const Row& r) { return r.bytes; }}};
  columns.push_back(
      {{"twice", "double", "B", "Two times the bytes.", Origin::loops}, [](const Row& r) { return 2 * r.bytes; }});
  const std::vector<Row> rows{{7}};
  CHECK(object_of(columns, rows[0]).dump() == R"({"bytes":7,"twice":14})");
  const Table table = table_of("", columns, rows);
  CHECK(render(table, OutputFormat::text) == "bytes moved  double\n-----------  ------\n          7      14\n");
  CHECK(render(table, OutputFormat::md) == "| bytes moved | double |\n| --: | --: |\n| 7 | 14 |\n");
  CHECK(listed("t", "here", columns).columns[1].meaning == "Two times the bytes.");
}

TEST_CASE("a table wider than the terminal folds its text, and keeps every word") {
  const Table table{
      .title = "a title",
      .columns = {"name", "available_bytes", "because"},
      .rows = {{"forward", 123456, "the tiles of K are read again by every block of queries; L2 holds few"},
               {"merge", 7, "short"}}};
  const std::string wide = render(table, OutputFormat::text), narrow = render(table, Style{.width = 50});
  CHECK(widest_line(wide) > 50);
  CHECK(widest_line(narrow) <= 50);
  for (const std::string word : {"forward", "123,456", "merge", "short", "queries;", "few"})
    CHECK(narrow.find(word) != std::string::npos);
}

TEST_CASE("a table of too many numbers is printed in blocks with numbered rows") {
  Table table{.title = "", .columns = {}, .rows = {{}, {}}};
  for (int c = 0; c < 12; ++c) {
    table.columns.push_back("column_" + std::to_string(c));
    table.rows[0].push_back(1000000 + c), table.rows[1].push_back(2000000 + c);
  }
  const std::string text = render(table, Style{.width = 60});
  CHECK(widest_line(text) <= 60);
  CHECK(text.starts_with("#"));
  for (int c = 0; c < 12; ++c) CHECK(text.find(with_thousands(2000000 + c)) != std::string::npos);
}

TEST_CASE("lines are wrapped at words with a hanging indent, and colours take no room") {
  CHECK(fitted("  one two three four\n", 12) == "  one two\n    three\n    four\n");
  CHECK(shown_width("\x1b[1mbold\x1b[0m") == 4);
  CHECK(shown_width("µs") == 2);
  CHECK(fitted("short\n\nlast", 12) == "short\n\nlast");
  CHECK(letters(fitted("abcdefghijklmnopqrstuvwxyz", 10)) == "abcdefghijklmnopqrstuvwxyz");
  CHECK(coloured_errors("error: x\ninfeasible: y\n", true) ==
        "\x1b[31merror:\x1b[0m x\n\x1b[31minfeasible:\x1b[0m y\n");
  CHECK(coloured_errors("error: x", false) == "error: x");
}

TEST_CASE("a progress bar shows the task, the progress and the time in the given width") {
  CHECK(progress_line("sweep", 1, 4, 2.0, 80) == "sweep [##########..............................]  25 % 2 s");
  CHECK(progress_line("derive", 0, 0, 12.4, 80) == "derive 12 s");
  for (const std::size_t width : {10u, 30u, 60u})
    CHECK(progress_line("comparing records", 9, 10, 3, width).size() <= width);
}

TEST_CASE("a name from outside stays one cell of CSV and of Markdown, and is no formula, HTML or link") {
  const auto one_cell = [](const std::string& name, OutputFormat format) {
    const std::string text = render(Table{.title = "", .columns = {"kernel"}, .rows = {{name}}}, format);
    return text.substr(format == OutputFormat::csv ? text.find('\n') + 1 : text.find("--- |\n") + 6);
  };
  CHECK(one_cell("=1+1", OutputFormat::csv) == "'=1+1\n");
  CHECK(one_cell("@SUM(A1)", OutputFormat::csv) == "'@SUM(A1)\n");
  CHECK(one_cell("-31.2", OutputFormat::csv) == "-31.2\n");
  CHECK(one_cell("-", OutputFormat::csv) == "-\n");
  CHECK(one_cell("a,\"b\"", OutputFormat::csv) == "\"a,\"\"b\"\"\"\n");
  CHECK(one_cell("a|b", OutputFormat::md) == "| a\\|b |\n");
  CHECK(one_cell("<img src=x>", OutputFormat::md) == "| &lt;img src=x> |\n");
  CHECK(one_cell("[a](http://b)", OutputFormat::md) == "| [a]\\(http://b) |\n");
  CHECK(one_cell("a\nb", OutputFormat::md) == "| a\\nb |\n");
}

TEST_CASE("a CSV line writes numbers as JSON does") {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t drawn = random() >> random() % 64;
    double number = 0;
    std::memcpy(&number, &drawn, sizeof number);
    const auto whole = static_cast<std::int64_t>(drawn);
    const Json cells[] = {Json(number), Json(static_cast<double>(whole) * 1e-3), Json(whole), Json(-whole),
                          Json(drawn)};
    for (const Json& cell : cells) CHECK(csv_line({cell}) == cell.dump() + "\n");
  }
  CHECK(csv_line({Json(nullptr), Json("a,b"), Json(true), Json(0.1)}) == ",\"a,b\",true,0.1\n");
}

}  // namespace table_test
