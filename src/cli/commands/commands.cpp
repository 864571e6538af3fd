#include "cli/commands/commands.h"

#include <fmt/format.h>

#include "base/text.h"

namespace tilescope::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> table{
      hardware_command(),   predict_command(),     explain_command(), derive_command(),  search_command(),
      compare_command(),    sensitivity_command(), sweep_command(),   model_command(),   measure_command(),
      validate_command(),   records_command(),     report_command(),  capture_command(), inspect_command(),
      describe_command(),   run_command(),         import_command(),  list_command(),    help_command(),
      completion_command(), man_command()};
  return table;
}

const Command& find_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == name) return command;
    names.push_back(command.name);
  }
  if (name.starts_with("-")) names = {"--help", "--version"};
  refuse("command", fmt::format("unknown command '{}'{}", name, did_you_mean(name, names)));
}

}  // namespace tilescope::cli
