// Reads a model's config.json, as Hugging Face transformers writes it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "network/architecture.h"
#include "network/network.h"

namespace tilescope {

// Reads `file`. `as`: the model_type to read it as, in place of its own. Throws InputError for a file that is no
// configuration, for one whose model_type `known` lacks (the message says which quantities were found), and for
// quantities that are missing or contradict each other, and for an unknown format of the weights unless the question
// gives one (`weights_given`).
Network read_network(const std::filesystem::path& file, const Architectures& known,
                     const std::optional<std::string>& as = {}, bool weights_given = false);

}  // namespace tilescope
