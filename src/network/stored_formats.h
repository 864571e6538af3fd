// Number formats of a model's weights, as its configuration states them.
#pragma once

#include <nlohmann/json.hpp>

#include "network/config_values.h"
#include "network/network.h"

namespace tilescope {

// `root`: the whole configuration; `part`: the language model's. Sets `format`, `plain` and `only_experts` of the
// network, with a note where a format is assumed. Findings go into `values`, but for those that --weights replaces.
void read_formats(const nlohmann::json& root, const nlohmann::json& part, bool weights_given, ConfigValues& values,
                  Network& network);

}  // namespace tilescope
