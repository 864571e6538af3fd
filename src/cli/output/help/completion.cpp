#include "cli/output/help/completion.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/command.h"

namespace tilescope::cli {
namespace {

// The topic of `tilescope list` that lists values of this kind; empty: none does.
std::string topic_of(Value value) {
  switch (value) {
    case Value::hardware:
      return "gpus";
    case Value::kernel:
      return "kernels";
    case Value::schedule:
      return "schedules";
    case Value::diagram:
      return "diagrams";
    case Value::workload:
      return "workloads";
    default:
      return "";
  }
}

bool is_path(Value value) {
  return value == Value::file || value == Value::directory || value == Value::output_file ||
         value == Value::output_directory;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : commands()) names.push_back(command.name);
  return names;
}

// `text` with a backslash before each of `special`, and without single quotes, for a word in single quotes.
std::string escaped(const std::string& text, const std::string& special) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') continue;
    if (special.find(c) != std::string::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string bash_value(Value value, const std::vector<std::string>& choices) {
  if (!choices.empty()) return fmt::format("_tilescope_words '{}'", join(choices, " "));
  if (value == Value::command) return fmt::format("_tilescope_words '{}'", join(command_names(), " "));
  if (const std::string topic = topic_of(value); !topic.empty()) return "_tilescope_names " + topic;
  return is_path(value) ? "_tilescope_files" : "";
}

constexpr const char* bash_head = R"script(# Completion of tilescope in bash, written by: tilescope completion bash
_tilescope_words() { COMPREPLY+=($(compgen -W "$1" -- "$cur")); }
_tilescope_files() { compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- "$cur")); }
_tilescope_names() {
  _tilescope_words "$("${COMP_WORDS[0]}" list "$1" --format csv 2>/dev/null | tail -n +2 | cut -d, -f1)"
  [[ ${#COMPREPLY[@]} -gt 0 ]] || _tilescope_files
}
_tilescope() {
  local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  if [[ $cur == = ]]; then cur=; elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi
  [[ $previous == -o ]] && previous=--output
  if ((COMP_CWORD == 1)); then
)script";

std::string zsh_action(Value value, const std::vector<std::string>& choices) {
  if (!choices.empty()) return fmt::format("({})", join(choices, " "));
  if (value == Value::command) return fmt::format("({})", join(command_names(), " "));
  if (const std::string topic = topic_of(value); !topic.empty()) return "_tilescope_names " + topic;
  return is_path(value) ? "_files" : " ";
}

constexpr const char* zsh_head = R"script(#compdef tilescope
# Completion of tilescope in zsh, written by: tilescope completion zsh
_tilescope_names() {
  local -a names
  names=(${(f)"$(tilescope list $1 --format csv 2>/dev/null | tail -n +2 | cut -d, -f1)"})
  compadd -a names || _files
}
_tilescope() {
  if (( CURRENT == 2 )); then
    local -a commands
    commands=(
)script";

std::string fish_words(Value value, const std::vector<std::string>& choices) {
  if (!choices.empty()) return fmt::format(" -x -a '{}'", join(choices, " "));
  if (value == Value::command) return fmt::format(" -x -a '{}'", join(command_names(), " "));
  if (const std::string topic = topic_of(value); !topic.empty())
    return fmt::format(" -r -a '(__tilescope_names {})'", topic);
  return is_path(value) ? " -r -F" : " -x";
}

}  // namespace

std::string bash_completion() {
  std::string out = bash_head;
  out += fmt::format("    _tilescope_words '{} --help --version'\n    return\n  fi\n", join(command_names(), " "));
  out += "  case ${COMP_WORDS[1]}:$previous in\n";
  for (const Command& command : commands())
    for (const OptionSpec& spec : command.options())
      if (const std::string value = bash_value(spec.value, spec.choices); !value.empty())
        out += fmt::format("    {}:--{}) {}; return ;;\n", command.name, spec.name, value);
  out += "  esac\n  case ${COMP_WORDS[1]} in\n";
  for (const Command& command : commands()) {
    std::vector<std::string> options;
    for (const OptionSpec& spec : command.options()) options.push_back("--" + spec.name);
    const std::string first = bash_value(command.first_value, command.first_words);
    out += fmt::format("    {}) if [[ $cur == -* ]]; then _tilescope_words '{}'", command.name, join(options, " "));
    out += first.empty() ? "; fi ;;\n" : fmt::format("; elif ((COMP_CWORD == 2)); then {}; fi ;;\n", first);
  }
  return out + "  esac\n}\ncomplete -F _tilescope tilescope\n";
}

std::string zsh_completion() {
  std::string out = zsh_head;
  for (const Command& command : commands())
    out += fmt::format("      '{}:{}'\n", command.name, escaped(command.summary, ":"));
  out +=
      "    )\n    _describe command commands\n    return\n  fi\n  local command=$words[2]\n"
      "  shift words\n  (( CURRENT-- ))\n  case $command in\n";
  for (const Command& command : commands()) {
    out += fmt::format("    {}) _arguments", command.name);
    for (const OptionSpec& spec : command.options()) {
      const std::string help = escaped(spec.help, "[]:\\");
      out += spec.flag() ? fmt::format(" \\\n      '--{}[{}]'", spec.name, help)
                         : fmt::format(" \\\n      '*--{}=[{}]:{}:{}'", spec.name, help, spec.name,
                                       zsh_action(spec.value, spec.choices));
    }
    const std::string first = zsh_action(command.first_value, command.first_words);
    if (first != " ") out += fmt::format(" \\\n      '1:word:{}'", first);
    out += " ;;\n";
  }
  return out +
         "  esac\n}\nif [[ $funcstack[1] == _tilescope ]]; then _tilescope \"$@\"; else compdef _tilescope "
         "tilescope; fi\n";
}

std::string fish_completion() {
  std::string out =
      "# Completion of tilescope in fish, written by: tilescope completion fish\n"
      "function __tilescope_names\n  tilescope list $argv[1] --format csv 2>/dev/null | tail -n +2 | cut -d, -f1\nend\n"
      "complete -c tilescope -f\n";
  for (const Command& command : commands())
    out += fmt::format("complete -c tilescope -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                       escaped(command.summary, "\\"));
  for (const Command& command : commands()) {
    const std::string seen = fmt::format("complete -c tilescope -n '__fish_seen_subcommand_from {}'", command.name);
    if (const std::string first = fish_words(command.first_value, command.first_words); first != " -x")
      out += seen + first + "\n";
    for (const OptionSpec& spec : command.options())
      out += fmt::format("{} -l {}{} -d '{}'\n", seen, spec.name,
                         spec.flag() ? "" : fish_words(spec.value, spec.choices), escaped(spec.help, "\\"));
  }
  return out;
}

}  // namespace tilescope::cli
