#include "cli/commands/commands.h"
#include "cli/output/help/man.h"

namespace tilescope::cli {
namespace {

ExitStatus man(const Arguments& arguments) {
  const auto& words = arguments.positional();
  deliver(arguments, words.empty() ? program_man_page() : command_man_page(find_command(words.front())));
  return ExitStatus::done;
}

std::vector<OptionSpec> man_options() {
  return {{"output", "write to this file (alias -o)", Value::output_file},
          {"help", "this text (alias -h)", Value::flag}};
}

}  // namespace

Command man_command() {
  return {.name = "man",
          .summary = "the manual page of the program or of a command, as roff",
          .usage = "[COMMAND]",
          .examples = {"tilescope man predict | man -l -", "tilescope man > tilescope.1"},
          .notes = "",
          .options = man_options,
          .run = man,
          .most_positional = 1,
          .first_value = Value::command};
}

}  // namespace tilescope::cli
