// The axes of a sweep whose values are texts: GPUs, kernels, formats, masks, sizes of a diagram, numbers of a profile.
// Every combination of them is a plan on a GPU of its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "request/options.h"

namespace tilescope {

struct ChoiceAxis {
  std::string name;  // "hardware", "dtype.kv", "size.pages", "set.levels.hbm.bandwidth"
  std::vector<std::string> values;
};

// Names of these axes, for messages: "hardware", ..., "dtype.ARRAY".
const std::vector<std::string>& choice_axis_names();

// nullopt: the text of --axis names no such axis. Throws InputError for an empty value or one that is given twice.
std::optional<ChoiceAxis> read_choice_axis(const std::string& text);

// The options with the axis's value number `at`. Throws InputError where an option already fixes it.
Options with_choice(const Options& options, const ChoiceAxis& axis, std::size_t at);

}  // namespace tilescope
