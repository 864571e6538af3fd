#include "cli/output/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace tilescope::cli {
namespace {

std::string marked(const std::string& text, const char* code, bool colour) {
  return colour && !text.empty() ? "\x1b[" + std::string(code) + "m" + text + "\x1b[0m" : text;
}

}  // namespace

std::size_t terminal_width(int descriptor) {
  if (!::isatty(descriptor)) return 0;
  constexpr long least = 40;
  if (const char* given = std::getenv("COLUMNS"))
    if (const long columns = std::strtol(given, nullptr, 10); columns > 0)
      return static_cast<std::size_t>(std::max(columns, least));
  winsize size{};
  const bool known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return static_cast<std::size_t>(std::max(known ? static_cast<long>(size.ws_col) : 80L, least));
}

bool colour_wanted(ColourChoice choice, int descriptor) {
  if (choice != ColourChoice::automatic) return choice == ColourChoice::always;
  const char* forbidden = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return ::isatty(descriptor) && !(forbidden && *forbidden) && !(terminal && std::string(terminal) == "dumb");
}

std::string bold(const std::string& text, bool colour) { return marked(text, "1", colour); }
std::string red(const std::string& text, bool colour) { return marked(text, "31", colour); }

std::string coloured_errors(std::string text, bool colour) {
  if (!colour) return text;
  for (const std::string word : {"error:", "infeasible:"}) {
    const std::string shown = red(word, true);
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += shown.size()) {
      const bool begins =
          at == 0 || text[at - 1] == '\n' || text.compare(at - std::min<std::size_t>(at, 2), 2, ": ") == 0;
      if (begins) text.replace(at, word.size(), shown);
    }
  }
  return text;
}

}  // namespace tilescope::cli
