#include "stream/validate_cascade.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/contains.h"

namespace tilescope {
namespace {

std::set<std::string, std::less<>> names_read(const Cascade& cascade) {
  std::set<std::string, std::less<>> names(cascade.streamed.begin(), cascade.streamed.end());
  for (const Fold& fold : cascade.folds)
    for (const std::string& used : fold.body.arrays()) names.insert(used);
  for (const Output& output : cascade.outputs)
    for (const std::string& used : output.value.arrays()) names.insert(used);
  return names;
}

}  // namespace

std::set<std::string, std::less<>> names_of(const Cascade& cascade) {
  std::set<std::string, std::less<>> names = names_read(cascade);
  for (const Fold& fold : cascade.folds) names.insert(fold.name);
  for (const Output& output : cascade.outputs) names.insert(output.name);
  return names;
}

std::optional<Refusal> refusal_of_form(const Cascade& cascade) {
  if (!is_expression_name(cascade.axis))
    return Refusal{"", fmt::format("the axis needs a name, found '{}'", cascade.axis)};
  for (const std::string& name : names_of(cascade))
    if (!is_expression_name(name) || name.ends_with('\''))
      return Refusal{name, fmt::format("'{}' cannot be a name in a cascade: letters, digits and '_', no prime", name)};
  for (const std::string& name : cascade.masked)
    if (!contains(cascade.streamed, name))
      return Refusal{name, fmt::format("{} is masked but does not vary along {}", name, cascade.axis)};
  if (cascade.folds.size() > most_folds)
    return Refusal{"", fmt::format("at most {} folds, found {}", most_folds, cascade.folds.size())};
  std::vector<std::string> all, earlier;
  for (const Fold& fold : cascade.folds) all.push_back(fold.name);
  for (const Fold& fold : cascade.folds) {
    if (contains(earlier, fold.name) || contains(cascade.streamed, fold.name))
      return Refusal{fold.name, fmt::format("the name {} is used twice", fold.name)};
    for (const std::string& used : fold.body.arrays())
      if (contains(all, used) && !contains(earlier, used))
        return Refusal{fold.name, fmt::format("{}: uses {}, which is not an earlier fold", fold.name, used)};
    earlier.push_back(fold.name);
  }
  std::vector<std::string> outputs;
  const std::set<std::string, std::less<>> read = names_read(cascade);
  for (const Output& output : cascade.outputs) {
    if (contains(outputs, output.name))
      return Refusal{output.name, fmt::format("two outputs are called {}", output.name)};
    if (read.contains(output.name) && !contains(all, output.name))
      return Refusal{output.name, fmt::format("the output {0} has the name of the input {0}", output.name)};
    outputs.push_back(output.name);
  }
  return std::nullopt;
}

}  // namespace tilescope
