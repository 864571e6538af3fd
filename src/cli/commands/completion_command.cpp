#include "cli/commands/commands.h"
#include "cli/output/help/completion.h"

namespace tilescope::cli {
namespace {

ExitStatus completion(const Arguments& arguments) {
  const std::string shell = arguments.positional().empty() ? "" : arguments.positional().front();
  if (shell != "bash" && shell != "zsh" && shell != "fish")
    refuse("completion", "expected bash, zsh or fish, found '" + shell + "'");
  deliver(arguments, shell == "bash" ? bash_completion() : shell == "zsh" ? zsh_completion() : fish_completion());
  return ExitStatus::done;
}

std::vector<OptionSpec> completion_options() {
  return {{"output", "write to this file (alias -o)", Value::output_file},
          {"help", "this text (alias -h)", Value::flag}};
}

}  // namespace

Command completion_command() {
  return {.name = "completion",
          .summary = "the completion script of a shell",
          .usage = "bash|zsh|fish",
          .examples = {"tilescope completion bash > ~/.local/share/bash-completion/completions/tilescope",
                       "tilescope completion zsh > ~/.zfunc/_tilescope",
                       "tilescope completion fish > ~/.config/fish/completions/tilescope.fish"},
          .notes = "Options, commands, kernels, schedules, workloads, diagrams and GPUs are completed.",
          .options = completion_options,
          .run = completion,
          .most_positional = 1,
          .first_words = {"bash", "zsh", "fish"}};
}

}  // namespace tilescope::cli
