// Keys of a configuration that no quantity reads although they say that the model's layers differ.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace tilescope {

// Judged by the words of the key and its value, because configurations of new architectures bring new keys:
// "attn_layer_period": 8, "linear_num_key_heads": 16, any list with a value for each of `layers` layers. A value that
// makes no difference (null, false, 0, an empty list, every first layer, as many as there are) says nothing.
bool says_layers_differ(const std::string& key, const nlohmann::json& value, std::int64_t layers);

}  // namespace tilescope
