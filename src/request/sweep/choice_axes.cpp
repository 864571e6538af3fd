#include "request/sweep/choice_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "hardware/changes.h"
#include "request/crossed.h"
#include "request/option_specs.h"
#include "request/sweep/axis_values.h"

namespace tilescope {
namespace {

// Options that an axis may give.
constexpr std::array<std::string_view, 10> options_of_axes{"hardware", "kernel", "schedule", "diagram", "workload",
                                                           "dtype",    "mask",   "pass",     "l2",      "basis"};
// What follows is a name: of an array, of a size that the diagram defines, of a number of the GPU's profile.
constexpr std::array<std::string_view, 3> prefixes{"dtype.", "size.", "set."};

bool starts_with_prefix(std::string_view name) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view each) { return name.starts_with(each) && name.size() > each.size(); });
}

// Whether the parts of `texts`, each like "a=1,b=2", give `key`.
bool gives(const std::vector<std::string>& texts, const std::string& separators, const std::string& key) {
  for (std::string text : texts) {
    for (char& c : text)
      if (contains(separators, c)) c = ',';
    for (const std::string& part : split(text, ','))
      if (part.starts_with(key + "=")) return true;
  }
  return false;
}

// Throws InputError where an option gives what the axis gives: an axis "dtype.kv" beside --dtype kv=int8.
void refuse_option_of_axis(const Options& options, const std::string& name) {
  const std::size_t dot = name.find('.');
  const std::string option = name.substr(0, dot);
  bool both = options.has(option);
  if (dot != std::string::npos) {
    const std::string key = name.substr(dot + 1);
    both = option == "set" ? gives({name_and_changes(options.text("hardware").value_or("")).second}, ";", key)
                           : gives(options.all(option), option == "dtype" ? ";" : "", key);
    if (option == "dtype" && (key == "k" || key == "v")) both = both || gives(options.all(option), ";", "kv");
    if (option == "dtype" && key == "kv")
      both = both || gives(options.all(option), ";", "k") || gives(options.all(option), ";", "v");
  }
  if (both)
    refuse("--axis", fmt::format("'{}' is given by --{}{} too; leave out one of them", name, option,
                                 option == "dtype" && name != option ? " or another axis" : ""));
}

}  // namespace

const std::vector<std::string>& choice_axis_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all(options_of_axes.begin(), options_of_axes.end());
    for (const char* each : {"dtype.ARRAY", "size.NAME", "set.KEY"}) all.emplace_back(each);
    return all;
  }();
  return names;
}

std::optional<ChoiceAxis> read_choice_axis(const std::string& text) {
  const std::size_t equals = text.find('=');
  std::string name = text.substr(0, equals);
  if (name == "gpu") name = "hardware";
  if (equals == std::string::npos || (!contains(options_of_axes, name) && !starts_with_prefix(name)))
    return std::nullopt;
  const bool numbers = name.starts_with("size.") || name.starts_with("set.");
  ChoiceAxis axis{.name = name, .values = parse_choices(text.substr(equals + 1), numbers)};
  if (name == "hardware") {
    std::vector<std::string> gpus;
    for (const std::string& given : axis.values)
      for (std::string& gpu : gpus_named(given)) gpus.push_back(std::move(gpu));
    axis.values = std::move(gpus);
  }
  std::set<std::string> seen;
  for (const std::string& value : axis.values) {
    if (value.empty()) refuse("--axis", fmt::format("'{}' holds an empty value", text));
    if (!seen.insert(value).second) refuse("--axis", fmt::format("'{}' has '{}' twice", name, value));
  }
  return axis;
}

Options with_choice(const Options& options, const ChoiceAxis& axis, std::size_t at) {
  const std::string& value = axis.values[at];
  refuse_option_of_axis(options, axis.name);
  if (axis.name.starts_with("size.")) return options.with("size", axis.name.substr(5) + "=" + value);
  if (axis.name.starts_with("set.")) {
    const auto gpu = options.text("hardware");
    if (!gpu) refuse("--axis", "'" + axis.name + "' changes a GPU: name it, as in --hardware h200_sxm");
    return options.without("hardware").with("hardware", changed_name(*gpu, axis.name.substr(4) + "=" + value));
  }
  if (axis.name.starts_with("dtype.")) {
    const auto before = options.text("dtype");
    return options.without("dtype").with("dtype",
                                         (before ? *before + "," : std::string()) + axis.name.substr(6) + "=" + value);
  }
  const Options chosen = options.with(axis.name, value);
  check_choices(chosen, point_options());
  return chosen;
}

}  // namespace tilescope
