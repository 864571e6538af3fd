#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "cli/commands/commands.h"
#include "cli/output/help/man.h"

namespace tilescope::cli {
namespace {

ExitStatus man(const Arguments& arguments) {
  const auto& words = arguments.positional();
  if (const auto folder = arguments.text("all")) {
    if (!words.empty()) refuse("--all", "writes the page of every command: leave out '" + words.front() + "'");
    const std::filesystem::path directory = *folder;
    std::filesystem::create_directories(directory);
    write_file(directory / "tilescope.1", program_man_page());
    for (const Command& command : commands())
      write_file(directory / ("tilescope-" + command.name + ".1"), command_man_page(command));
    return ExitStatus::done;
  }
  deliver(arguments, words.empty() ? program_man_page() : command_man_page(find_command(words.front())));
  return ExitStatus::done;
}

std::vector<OptionSpec> man_options() {
  return {{"all", "write the pages of the program and of every command into this folder", Value::output_directory},
          {"output", "write to this file (alias -o)", Value::output_file},
          {"help", "this text (alias -h)", Value::flag}};
}

}  // namespace

Command man_command() {
  return {.name = "man",
          .summary = "the manual page of the program or of a command, as roff",
          .usage = "[COMMAND]",
          .examples = {"tilescope man predict | man -l -", "tilescope man > tilescope.1",
                       "tilescope man --all share/man/man1"},
          .notes = "",
          .options = man_options,
          .run = man,
          .most_positional = 1,
          .first_value = Value::command};
}

}  // namespace tilescope::cli
