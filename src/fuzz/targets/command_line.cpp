// Command lines: a word a line. All are parsed; those that only read and print are carried out.
#include <algorithm>

#include "base/contains.h"
#include "base/text.h"
#include "cli/command.h"
#include "fuzz/target.h"

namespace tilescope::fuzz {
namespace {

bool writes_files(const cli::Arguments& arguments) {
  return std::any_of(arguments.specs().begin(), arguments.specs().end(), [&](const OptionSpec& spec) {
    return (spec.value == Value::output_file || spec.value == Value::output_directory) && arguments.has(spec.name);
  });
}

// These neither measure, run programs, write without being told to, nor read all records.
bool only_prints(const cli::Command& command, const cli::Arguments& arguments) {
  static const std::vector<std::string> always{"predict", "explain", "derive", "search",    "compare",
                                               "model",   "list",    "help",   "completion"};
  static const std::vector<std::string> of_hardware{"list", "show", "check"};
  if (writes_files(arguments)) return false;
  const auto& words = arguments.positional();
  return contains(always, command.name) ||
         (command.name == "hardware" && !words.empty() && contains(of_hardware, words.front()));
}

void give_command_line(const Input& input) {
  constexpr std::size_t most_words = 32;
  std::vector<std::string> words;
  for (const std::string& word : split(input.bytes, '\n')) words.push_back(word);
  if (words.size() > most_words) return;
  const cli::Command& command = cli::find_command(words.front());
  const cli::Arguments arguments(command.name, {words.begin() + 1, words.end()}, command.options(),
                                 command.most_positional);
  if (only_prints(command, arguments)) run_words(words);
}

}  // namespace

const Target command_line{.name = "command_line", .file_name = "words.txt", .run = give_command_line};

}  // namespace tilescope::fuzz
