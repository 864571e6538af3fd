// The command line's words as options. The only folder that sees Boost.Program_options.
#pragma once

#include <string>
#include <vector>

#include "base/data_directory.h"
#include "cli/input/choices.h"
#include "request/option_specs.h"
#include "request/read_point.h"

namespace tilescope::cli {

// The options given, by canonical name, with the words that are not options.
class Arguments : public Options {
 public:
  // Aliases (--heads, --seqlen, -o, ...) become canonical names. Throws InputError for an unknown option (did you
  // mean), a missing value, a value that is not among the option's choices, or too many positional words.
  // `after_dashes`: the words after "--" of a command that runs another program, as they are.
  Arguments(const std::string& command, const std::vector<std::string>& words, const std::vector<OptionSpec>& specs,
            std::size_t most_positional, std::vector<std::string> after_dashes = {});

  const std::vector<std::string>& positional() const { return positional_; }
  const std::vector<std::string>& after_dashes() const { return after_dashes_; }
  const std::vector<OptionSpec>& specs() const { return specs_; }  // the options that the command takes

  OutputFormat format() const;
  ColourChoice colour() const;
  bool quiet() const { return has("quiet"); }

 private:
  std::vector<OptionSpec> specs_;
  std::vector<std::string> positional_, after_dashes_;
};

OptionSpec nvdisasm_option();              // --nvdisasm, of commands that read machine code
OptionSpec durations_option();             // --durations, of commands that capture
std::vector<OptionSpec> output_options();  // --format, -o, --color, --quiet, --help

}  // namespace tilescope::cli
