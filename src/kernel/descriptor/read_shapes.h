// Internal to readers of descriptors and of tables of calls: conditions on sizes, and how the host splits the keys.
#pragma once

#include "config/reader.h"
#include "kernel/descriptor/shapes.h"

namespace tilescope::reading {

// nullopt after a finding. `splits`: the condition may use that name.
std::optional<Condition> read_condition(const Node& node, bool splits);
HostSplits read_host_splits(const Node& node);

}  // namespace tilescope::reading
