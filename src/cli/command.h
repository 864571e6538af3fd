// A command of the program. One record feeds the parser, --help, shell completion and the man pages.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/input/options.h"

namespace tilescope::cli {

struct Command {
  std::string name;
  std::string summary;                // one line of the list of commands
  std::string usage;                  // what follows the name, as in "--hardware ID ..."
  std::vector<std::string> examples;  // whole command lines; the first words of each are "tilescope NAME"
  std::string notes;                  // paragraphs printed below the examples; may be empty
  std::vector<OptionSpec> (*options)();
  ExitStatus (*run)(const Arguments&);
  std::size_t most_positional = 0;         // words that are not options
  std::vector<std::string> first_words{};  // for completion: choices of the first such word; empty: see first_value
  Value first_value = Value::text;         // for completion: kind of the first such word
  bool runs_program = false;               // the words after "--" are another program's command line
};

// Every command, in the order of the help. Adding a command adds one row here.
const std::vector<Command>& commands();

// Returns the command of that name. Throws InputError with the nearest name if there is none.
const Command& find_command(const std::string& name);

}  // namespace tilescope::cli
