#include "cli/cli.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <new>

#include "base/checked.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output/help/help.h"
#include "cli/output/output.h"
#include "cli/output/terminal.h"
#include "cli/output/version.h"

namespace tilescope::cli {
namespace {

bool asks_help(const std::string& word) { return word == "--help" || word == "-h"; }

// What is not UTF-8 could not be repeated in JSON, Markdown or HTML.
void require_utf8(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i)
    if (!is_utf8(words[i]))
      refuse("command line", fmt::format("word {} is not UTF-8, found {}", i + 1, shown_text(words[i])));
}

int fail(ExitStatus status, const std::string& message) {
  print_note(coloured_errors(message, colour_wanted(ColourChoice::automatic, STDERR_FILENO)));
  return static_cast<int>(status);
}

}  // namespace

ExitStatus dispatch(const std::vector<std::string>& words) {
  require_utf8(words);
  if (words.empty() || asks_help(words[0])) {
    print(program_help(terminal_width(STDOUT_FILENO)));
    return words.empty() ? ExitStatus::bad_input : ExitStatus::done;
  }
  if (words[0] == "--version") {
    print(version_text());
    return ExitStatus::done;
  }
  const Command& command = find_command(words[0]);
  const auto dashes = command.runs_program ? std::find(words.begin() + 1, words.end(), "--") : words.end();
  const std::vector<std::string> rest(words.begin() + 1, dashes);
  const std::vector<std::string> program(dashes == words.end() ? dashes : dashes + 1, words.end());
  if (std::any_of(rest.begin(), rest.end(), asks_help)) {
    print(command_help(command, terminal_width(STDOUT_FILENO)));
    return ExitStatus::done;
  }
  const Arguments arguments(command.name, rest, command.options(), command.most_positional, program);
  check_output_paths(arguments);
  return command.run(arguments);
}

int run(const std::vector<std::string>& words) {
  std::signal(SIGPIPE,
              SIG_IGN);  // writing to a closed pipe fails instead of ending the process, so temporary files are removed
  remove_temporaries_on_signals();
  try {
    return static_cast<int>(dispatch(words));
  } catch (const ReaderGone&) {
    return 128 + SIGPIPE;
  } catch (const InputError& error) {
    return fail(ExitStatus::bad_input, error.what());
  } catch (const CountOverflow& error) {
    return fail(ExitStatus::bad_input, fmt::format("error: {}", error.what()));
  } catch (const DeviceError& error) {
    return fail(ExitStatus::no_device, fmt::format("error: {}", error.what()));
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(ExitStatus::bad_input,
                to_string({.file = error.path1().string(), .message = "cannot be used: " + error.code().message()}));
  } catch (const std::bad_alloc&) {
    return fail(ExitStatus::bad_input, "error: out of memory; use fewer or smaller points");
  } catch (const std::exception& error) {
    return fail(ExitStatus::answer_no, fmt::format("error: internal: {}; please report this", error.what()));
  }
}

}  // namespace tilescope::cli
