#include <unistd.h>

#include "cli/commands/commands.h"
#include "cli/output/help/help.h"
#include "cli/output/terminal.h"

namespace tilescope::cli {
namespace {

ExitStatus help(const Arguments& arguments) {
  const std::size_t width = terminal_width(STDOUT_FILENO);
  const auto& words = arguments.positional();
  print(words.empty() ? program_help(width) : command_help(find_command(words.front()), width));
  return ExitStatus::done;
}

}  // namespace

Command help_command() {
  return {.name = "help",
          .summary = "the list of commands, or the options and examples of one",
          .usage = "[COMMAND]",
          .examples = {"tilescope help predict"},
          .notes = "",
          .options =
              [] {
                return std::vector<OptionSpec>{{"help", "this text (alias -h)", Value::flag}};
              },
          .run = help,
          .most_positional = 1,
          .first_value = Value::command};
}

}  // namespace tilescope::cli
