// The JSON type of everything that is printed: keys keep the order in which they were added.
#pragma once

#include <nlohmann/json.hpp>

namespace tilescope {
using Json = nlohmann::ordered_json;
}
