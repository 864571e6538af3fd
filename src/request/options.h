// Options by name, as texts, from the command line, the library or Python.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace tilescope {

// The options given, by the name of the command line without dashes ("q-len"); an option may be given several times.
class Options {
 public:
  Options() = default;
  explicit Options(std::map<std::string, std::vector<std::string>> values) : values_(std::move(values)) {}

  bool has(const std::string& name) const { return values_.contains(name); }
  std::optional<std::string> text(const std::string& name) const;  // throws InputError when given twice, or empty
  std::vector<std::string> all(const std::string& name) const;
  std::vector<std::string> names() const;
  // Accepts 4k and 1m: k = 1024, m = 1024^2. Throws InputError outside `least` to `most`.
  std::optional<std::int64_t> integer(const std::string& name, std::int64_t least, std::int64_t most) const;

  // The same options with a value added, or without an option.
  Options with(const std::string& name, const std::string& value) const;
  Options without(const std::string& name) const;

 protected:
  std::map<std::string, std::vector<std::string>> values_;
};

}  // namespace tilescope
