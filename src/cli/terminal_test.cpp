// The program on a terminal: a pseudo-terminal of 80 columns, by script(1).
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <regex>

#include "base/text.h"
#include "cli/output/fit.h"
#include "cli/run_program.h"

namespace terminal_test {

using namespace tilescope;
using namespace tilescope::cli;

namespace {

// What the program prints to a terminal of so many columns, stdout and stderr together.
std::string on_terminal(const std::string& words, int columns, const std::string& environment = "") {
  const ScratchFolder folder;
  const std::string file = folder / "typescript";
  const std::string command = "script -qec \"stty cols " + std::to_string(columns) +
                              " rows 24; env -u COLUMNS TERM=xterm " + environment + " " TILESCOPE_BINARY " " + words +
                              "\" " + file + " >/dev/null 2>&1 </dev/null";
  REQUIRE(std::system(command.c_str()) != -1);
  std::ifstream stream(file, std::ios::binary);
  std::string text, line;
  while (std::getline(stream, line)) {
    if (line.starts_with("Script ")) continue;  // the header and footer of script(1)
    line.erase(std::remove(line.begin(), line.end(), '\r'), line.end());
    text += line + "\n";
  }
  return text;
}

std::size_t widest(const std::string& text) {
  std::size_t width = 0;
  for (const std::string& line : split(text, '\n')) width = std::max(width, shown_width(line));
  return width;
}

}  // namespace

TEST_CASE("no line is wider than a terminal of 80 or 50 columns") {
  for (const std::string& words :
       std::vector<std::string>{"--help", "predict --help", "predict" + shape, "explain" + shape, "search" + shape,
                                "compare" + shape, "sweep --format text --axis batch=1,2" + shape, "hardware list",
                                "list kernels", "list columns", "hardware show l4", "derive matmul"})
    for (const int columns : {80, 50}) {
      CAPTURE(words);
      CAPTURE(columns);
      const std::string text = on_terminal(words, columns);
      CHECK(text.size() > 80);
      CHECK(widest(text) <= static_cast<std::size_t>(columns));
    }
}

TEST_CASE("a narrow terminal shows every number") {
  const std::string text = on_terminal("predict --color never" + shape, 80), file = run_program("predict" + shape).out;
  const std::regex number("[0-9][0-9,]*,[0-9]{3}");
  for (std::sregex_iterator it(file.begin(), file.end(), number), end; it != end; ++it)
    CHECK_MESSAGE(text.find(it->str()) != std::string::npos, it->str());
}

TEST_CASE("colours are for terminals, unless NO_COLOR or --color says otherwise") {
  const std::string escape = "\x1b[";
  const auto has_colour = [&](const std::string& text) { return text.find(escape) != std::string::npos; };
  CHECK(has_colour(on_terminal("predict" + shape, 80)));
  CHECK(!has_colour(on_terminal("predict" + shape, 80, "NO_COLOR=1")));
  CHECK(!has_colour(on_terminal("predict --color never" + shape, 80)));
  CHECK(!has_colour(run_program("predict" + shape).out));
  CHECK(has_colour(run_program("predict --color always" + shape).out));
  CHECK(!has_colour(run_program("predict --color always --format json" + shape).out));
  CHECK(has_colour(on_terminal("predict --hardware nothing", 80)));  // "error:"
}

TEST_CASE("a command that takes seconds shows a bar on a terminal, and none with --quiet or in a pipe") {
  const std::string sweep =
      "sweep --hardware h200_sxm --q-len 4k --heads 16 --axis batch=1:10000000:1 --yes --tile first --l2 closed -o "
      "/dev/null";
  const ScratchFolder folder;
  const auto shown = [&](const std::string& words) {
    const std::string file = folder / "typescript";
    const std::string command =
        "script -qec \"timeout 2 " TILESCOPE_BINARY " " + words + "\" " + file + " >/dev/null 2>&1 </dev/null";
    REQUIRE(std::system(command.c_str()) != -1);
    return content_of(file);
  };
  const std::regex bar("sweep \\[[#.]+\\] +[0-9]+ % [0-9]+ s");
  CHECK(std::regex_search(shown(sweep), bar));
  CHECK(!std::regex_search(shown(sweep + " --quiet"), bar));
  CHECK(run_program("sweep --hardware h200_sxm --q-len 4k --axis batch=1:2000:1 --tile first --l2 closed -o /dev/null")
            .err == "");
}

}  // namespace terminal_test
