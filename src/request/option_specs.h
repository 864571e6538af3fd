// The options and the kinds of their values: one table for the command line, the library and the docs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "request/options.h"

namespace tilescope {

// The kind of an option's value. Shell completion offers values of that kind. Output paths are checked before a
// command starts its work.
enum class Value {
  text,
  flag,  // takes no value
  count,
  choice,  // one of OptionSpec::choices
  file,
  directory,
  output_file,
  output_directory,
  hardware,
  kernel,
  schedule,
  diagram,
  workload,
  command
};

struct OptionSpec {
  std::string name;  // "q-len"
  std::string help;
  Value value = Value::text;
  std::vector<std::string> choices = {};

  bool flag() const { return value == Value::flag; }
};

std::vector<OptionSpec> point_options();    // --hardware, --schedule, --kernel, --diagram, --size, --workload, extents,
                                            // --mask, --dtype, --tile, --splits, --pass, --l2, --basis, --drift
OptionSpec threads_option();                // --threads, of commands that predict many points
OptionSpec set_option();                    // --set, of commands that take --hardware
std::vector<OptionSpec> compare_options();  // point_options, --sort, --best, --threads
std::vector<OptionSpec> search_top_options();  // --top, --threads
std::vector<OptionSpec> operator+(std::vector<OptionSpec> a, const std::vector<OptionSpec>& b);

// --threads; else all cores that the process may run on.
std::size_t threads_of(const Options& options);

// The short and alternative spellings of options: "-o" -> "--output".
const std::map<std::string, std::string>& option_aliases();

// Throws InputError, with the nearest choice, for a value that is not among its option's choices.
void check_choices(const Options& options, const std::vector<OptionSpec>& specs);

// Appends the changes of --set to the names of all GPUs of --hardware (hardware/changes.h), and takes --set away.
void change_gpus(std::map<std::string, std::vector<std::string>>& values);

// Options by name as another program gives them: "q_len" or "q-len" or an alias. Throws InputError for a name that
// `specs` lacks, an option without a value, or a value that is not among its choices. The error names the nearest name.
Options checked_options(const std::vector<std::pair<std::string, std::string>>& given,
                        const std::vector<OptionSpec>& specs);

}  // namespace tilescope
