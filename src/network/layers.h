// The layers of a model from the quantities of its configuration.
#pragma once

#include "network/architecture.h"
#include "network/config_values.h"
#include "network/network.h"

namespace tilescope {

// Adds attention groups, matrices and the rest to `network`. Findings go into `values`.
void read_layers(ConfigValues& values, const Architecture& architecture, Network& network);

}  // namespace tilescope
