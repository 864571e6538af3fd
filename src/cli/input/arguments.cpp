#include <fmt/format.h>

#include <boost/program_options.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/input/file_endings.h"
#include "cli/input/options.h"

namespace tilescope::cli {
namespace {

namespace po = boost::program_options;

std::string canonical(const std::string& word) {
  const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
  const auto alias = option_aliases().find(word.substr(0, equals));
  if (alias == option_aliases().end()) return word;
  return alias->second + (equals == std::string::npos ? "" : word.substr(equals));
}

// The option as it was typed: "--heads" of "--heads-q".
std::string as_typed(const std::string& option, const std::vector<std::string>& words) {
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    const std::string typed = word->substr(0, word->find('='));
    if (canonical(typed) == option) return typed;
  }
  return option;
}

std::vector<std::string> option_names(const std::vector<OptionSpec>& specs) {
  std::vector<std::string> names;
  for (const OptionSpec& spec : specs) names.push_back("--" + spec.name);
  for (const auto& [alias, name] : option_aliases()) names.push_back(alias);
  return names;
}

}  // namespace

Arguments::Arguments(const std::string& command, const std::vector<std::string>& words,
                     const std::vector<OptionSpec>& specs, std::size_t most_positional,
                     std::vector<std::string> after_dashes)
    : specs_(specs), after_dashes_(std::move(after_dashes)) {
  po::options_description description;
  for (const OptionSpec& spec : specs) {
    if (spec.flag()) description.add_options()(spec.name.c_str(), spec.help.c_str());
    else description.add_options()(spec.name.c_str(), po::value<std::vector<std::string>>(), spec.help.c_str());
  }
  std::vector<std::string> spelled;
  for (const std::string& word : words) spelled.push_back(canonical(word));
  try {
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    const auto parsed = po::command_line_parser(spelled).options(description).style(style).run();
    for (const auto& option : parsed.options) {
      if (option.string_key.empty()) positional_.insert(positional_.end(), option.value.begin(), option.value.end());
      else {
        auto& values = values_[option.string_key];
        values.insert(values.end(), option.value.begin(), option.value.end());
      }
    }
  } catch (const po::unknown_option& error) {
    const std::string name = error.get_option_name();
    const std::vector<std::string> known = option_names(specs);
    const auto near = nearest(name, known);
    refuse(name, fmt::format("'{}' has no such option{}", command,
                             near ? fmt::format("; did you mean '{}'?", *near)
                                  : fmt::format("; see tilescope {} --help", command)));
  } catch (const po::error_with_option_name& error) {
    const std::string option = as_typed(error.get_option_name(), words);
    const auto* syntax = dynamic_cast<const po::invalid_command_line_syntax*>(&error);
    if (syntax && syntax->kind() == po::invalid_syntax::extra_parameter)
      refuse(option, fmt::format("takes no value; see tilescope {} --help", command));
    refuse(option, fmt::format("needs a value, as in {} VALUE; see tilescope {} --help", option, command));
  } catch (const po::error& error) {
    refuse("command line", fmt::format("{}; see tilescope {} --help", error.what(), command));
  }
  if (positional_.size() > most_positional)
    refuse(positional_[most_positional],
           fmt::format("unexpected word; options start with --, see tilescope {} --help", command));
  change_gpus(values_);
  choose_format(command, values_, specs, !after_dashes_.empty());
  check_choices(*this, specs);
}

OptionSpec nvdisasm_option() {
  return {"nvdisasm",
          "the disassembler to run; otherwise that of the variable NVDISASM, of PATH, of the CUDA toolkit or of Triton",
          Value::file};
}

OptionSpec durations_option() {
  return {
      "durations",
      "launches that have a time: all, none or sampled (default): the first of each kind, then 20 ms in each 500 ms",
      Value::choice,
      {"all", "sampled", "none"}};
}

std::vector<OptionSpec> output_options() {
  return {{"format", "text, json, csv or md", Value::choice, kind_names<OutputFormat>()},
          {"output", "write to this file; its ending chooses the format (alias -o)", Value::output_file},
          {"color", "auto (default: colours on a terminal, unless NO_COLOR is set), always or never", Value::choice,
           kind_names<ColourChoice>()},
          {"quiet", "no progress or notes (alias -q)", Value::flag},
          {"help", "this text (alias -h)", Value::flag}};
}

OutputFormat Arguments::format() const {
  return parse_kind<OutputFormat>(text("format").value_or("")).value_or(OutputFormat::text);
}

ColourChoice Arguments::colour() const {
  return parse_kind<ColourChoice>(text("color").value_or("")).value_or(ColourChoice::automatic);
}

}  // namespace tilescope::cli
