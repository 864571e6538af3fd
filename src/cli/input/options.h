// Command-line options, the same in every command. The only folder that sees Boost.Program_options.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/data_directory.h"
#include "cli/output/output.h"
#include "cli/output/terminal.h"
#include "search/search.h"

namespace tilescope::cli {

// What an option's value is. Completion offers such values; output paths are checked before a command works.
enum class Value {
  text,
  flag,  // takes no value
  count,
  choice,  // one of OptionSpec::choices; others are refused
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

// The options given, by canonical name; an option may be given several times.
class Arguments {
 public:
  // Aliases (--heads, --seqlen, -o, ...) become canonical names. Throws InputError for an unknown option (did you
  // mean), a missing value, a value that is not among the option's choices, or too many positional words.
  Arguments(const std::string& command, const std::vector<std::string>& words, const std::vector<OptionSpec>& specs,
            std::size_t most_positional);

  bool has(const std::string& name) const { return values_.contains(name); }
  std::optional<std::string> text(const std::string& name) const;  // InputError when given twice
  std::vector<std::string> all(const std::string& name) const;
  std::optional<std::int64_t> integer(const std::string& name, std::int64_t least,
                                      std::int64_t most) const;  // accepts 4k, 1m (1024s)
  const std::vector<std::string>& positional() const { return positional_; }

  const std::vector<OptionSpec>& specs() const { return specs_; }  // the options that the command takes

  // The same arguments with an option's value added, or without an option.
  Arguments with(const std::string& name, const std::string& value) const;
  Arguments without(const std::string& name) const;

  OutputFormat format() const;
  ColourChoice colour() const;
  bool quiet() const { return has("quiet"); }

 private:
  void check_choices() const;

  std::vector<OptionSpec> specs_;
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> positional_;
};

std::vector<OptionSpec> point_options();   // --hardware, --schedule, --kernel, --diagram, --size, --workload, extents,
                                           // --mask, --dtype, --tile, --splits, --pass
std::vector<OptionSpec> output_options();  // --format, -o, --color, --quiet, --help
std::vector<OptionSpec> operator+(std::vector<OptionSpec> a, const std::vector<OptionSpec>& b);

// "4096", "4k", "1m": k = 1024, m = 1024^2. nullopt: not an integer or out of range.
std::optional<std::int64_t> parse_count(std::string_view text);

// --kernel or --schedule (default: flash2, of the backward pass flash2-backward), on its own diagram or --diagram, with
// --size; InputError also when --pass is not the plan's. The second form names the kernel or schedule itself.
Plan read_plan(const Arguments& arguments);
Plan read_plan(const Arguments& arguments, const std::optional<std::string>& kernel,
               const std::optional<std::string>& schedule);
HardwareProfile read_hardware(const Arguments& arguments);  // --hardware, required
// The point without a tile choice: workload, mask, dtypes, and --tile where given. InputError lists all violations.
Point read_point(const Arguments& arguments, const Plan& plan);
Mask mask_of(const Arguments& arguments, const Workload& workload, const Diagram& diagram);  // --mask, default none
void apply_dtypes(Point& point, const Plan& plan, const std::string& text);                  // "fp16,kv=int8,o=bf16"
bool tile_given(const Arguments& arguments);
SearchOptions search_options(const Arguments& arguments,
                             const Plan& plan);  // what the options fix of a tile that is searched for
// A kernel starts from its first variant for the point's head_dim; other plans and head_dims keep the tile they have.
void default_tile(Point& point, const Plan& plan);

// The short and alternative spellings of options: "-o" -> "--output".
const std::map<std::string, std::string>& option_aliases();

}  // namespace tilescope::cli
