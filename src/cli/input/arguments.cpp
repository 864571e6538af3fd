#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <charconv>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
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

std::vector<std::string> option_names(const std::vector<OptionSpec>& specs) {
  std::vector<std::string> names;
  for (const OptionSpec& spec : specs) names.push_back("--" + spec.name);
  for (const auto& [alias, name] : option_aliases()) names.push_back(alias);
  return names;
}

}  // namespace

const std::map<std::string, std::string>& option_aliases() {
  static const std::map<std::string, std::string> table{
      {"--heads", "--heads-q"},    {"--kv-heads", "--heads-kv"}, {"--seqlen", "--q-len"}, {"-s", "--q-len"},
      {"--seqlen-kv", "--kv-len"}, {"--batchsize", "--batch"},   {"-b", "--batch"},       {"-d", "--head-dim"},
      {"--gpu", "--hardware"},     {"-o", "--output"},           {"-q", "--quiet"},       {"-h", "--help"}};
  return table;
}

Arguments::Arguments(const std::string& command, const std::vector<std::string>& words,
                     const std::vector<OptionSpec>& specs, std::size_t most_positional)
    : specs_(specs) {
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
  } catch (const po::invalid_command_line_syntax& error) {
    if (error.kind() == po::invalid_syntax::extra_parameter)
      refuse(error.get_option_name(), fmt::format("takes no value; see tilescope {} --help", command));
    refuse(error.get_option_name(),
           fmt::format("needs a value, as in {} VALUE; see tilescope {} --help", error.get_option_name(), command));
  } catch (const po::error_with_option_name& error) {
    refuse(error.get_option_name(),
           fmt::format("needs a value, as in {} VALUE; see tilescope {} --help", error.get_option_name(), command));
  } catch (const po::error& error) {
    refuse("command line", fmt::format("{}; see tilescope {} --help", error.what(), command));
  }
  if (positional_.size() > most_positional)
    refuse(positional_[most_positional],
           fmt::format("unexpected word; options start with --, see tilescope {} --help", command));
  check_choices();
}

void Arguments::check_choices() const {
  for (const OptionSpec& spec : specs_) {
    if (spec.value != Value::choice) continue;
    const auto value = text(spec.name);
    if (!value || contains(spec.choices, *value)) continue;
    std::vector<std::string> first = spec.choices;
    first.pop_back();
    const auto near = nearest(*value, spec.choices);
    refuse("--" + spec.name, fmt::format("expected {} or {}, found '{}'{}", join(first, ", "), spec.choices.back(),
                                         *value, near ? fmt::format("; did you mean '{}'?", *near) : ""));
  }
}

Arguments Arguments::with(const std::string& name, const std::string& value) const {
  Arguments copy = *this;
  copy.values_[name].push_back(value);
  return copy;
}

Arguments Arguments::without(const std::string& name) const {
  Arguments copy = *this;
  copy.values_.erase(name);
  return copy;
}

std::optional<std::string> Arguments::text(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end() || found->second.empty()) return std::nullopt;
  if (found->second.size() > 1) refuse("--" + name, fmt::format("given {} times, expected once", found->second.size()));
  if (found->second.front().empty()) refuse("--" + name, "is empty, expected a value");
  return found->second.front();
}

std::vector<std::string> Arguments::all(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

std::optional<std::int64_t> Arguments::integer(const std::string& name, std::int64_t least, std::int64_t most) const {
  const auto value = text(name);
  if (!value) return std::nullopt;
  const auto number = parse_count(*value);
  if (!number || *number < least || *number > most)
    refuse("--" + name, fmt::format("expected an integer from {} to {}, found '{}'", least, most, *value));
  return number;
}

OutputFormat Arguments::format() const {
  const std::string name = text("format").value_or("text");
  return name == "json"  ? OutputFormat::json
         : name == "csv" ? OutputFormat::csv
         : name == "md"  ? OutputFormat::md
                         : OutputFormat::text;
}

ColourChoice Arguments::colour() const {
  const std::string name = text("color").value_or("auto");
  return name == "always" ? ColourChoice::always : name == "never" ? ColourChoice::never : ColourChoice::automatic;
}

std::vector<OptionSpec> operator+(std::vector<OptionSpec> a, const std::vector<OptionSpec>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::optional<std::int64_t> parse_count(std::string_view text) {
  std::int64_t factor = 1;
  if (text.ends_with('k') || text.ends_with('K')) factor = 1024;
  if (text.ends_with('m') || text.ends_with('M')) factor = 1024 * 1024;
  if (factor > 1) text.remove_suffix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool padded = text.size() > 1 && text.front() == '0';  // "010" is 8 to some and 10 to others
  if (text.empty() || padded || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (__builtin_mul_overflow(value, factor, &value)) return std::nullopt;
  return value;
}

}  // namespace tilescope::cli
