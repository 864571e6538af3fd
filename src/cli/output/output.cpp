#include "cli/output/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "base/error.h"
#include "base/escape.h"
#include "base/text.h"
#include "cli/input/options.h"
#include "cli/output/fit.h"
#include "cli/output/terminal.h"

namespace tilescope::cli {
namespace {

bool to_file(const Arguments& arguments) {
  const auto file = arguments.text("output");
  return file && *file != "-";
}

}  // namespace

void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) throw ReaderGone{};
    if (written < 0)
      throw InputError(
          Diagnostic{.file = "standard output",
                     .message = fmt::format("cannot be written: {}; name another file with -o", std::strerror(errno))});
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void print_note(const std::string& line) {
  const std::size_t width = terminal_width(STDERR_FILENO);
  const std::string safe = many_lines(line);
  std::cerr << (width > 0 ? fitted(safe, width) : safe) << "\n";
}

Style style_of(const Arguments& arguments) {
  const bool file = to_file(arguments);
  const ColourChoice choice = file ? ColourChoice::never : arguments.colour();
  return {.format = arguments.format(),
          .width = file ? 0 : terminal_width(STDOUT_FILENO),
          .colour = arguments.format() == OutputFormat::text && colour_wanted(choice, STDOUT_FILENO)};
}

void deliver(const Arguments& arguments, const std::string& content) {
  const Style style = style_of(arguments);
  const bool read_by_people = style.format == OutputFormat::text || style.format == OutputFormat::md;
  std::string safe = read_by_people ? many_lines(content) : content;
  if (style.format == OutputFormat::md) safe = safe_markdown(safe);
  if (to_file(arguments)) write_file(*arguments.text("output"), safe);
  else if (style.format != OutputFormat::text) print(safe);
  else print(coloured_errors(style.width > 0 ? fitted(safe, style.width) : safe, style.colour));
}

Output::Output(const Arguments& arguments) {
  if (to_file(arguments)) file_ = std::make_unique<OutputFile>(*arguments.text("output"));
}

void Output::write(std::string_view text) {
  if (file_) return file_->write(text);
  constexpr std::size_t block = 1 << 16;
  waiting_ += text;
  if (waiting_.size() < block && !::isatty(STDOUT_FILENO)) return;
  print(waiting_);
  waiting_.clear();
}

void Output::flush() {
  if (file_) return;
  print(waiting_);
  waiting_.clear();
}

void Output::commit() {
  if (file_) file_->commit();
  else flush();
}

void check_output_paths(const Arguments& arguments) {
  for (const OptionSpec& spec : arguments.specs()) {
    if (spec.value != Value::output_file && spec.value != Value::output_directory) continue;
    const auto path = arguments.text(spec.name);
    if (!path || (*path == "-" && spec.name == "output")) continue;
    if (spec.value == Value::output_file) check_writable_file(*path);
    else check_writable_directory(*path);
  }
}

}  // namespace tilescope::cli
