// The simulated SM as a trace in Chrome's format, which the Perfetto UI opens.
#pragma once

#include <string>

#include "simulate/simulation.h"

namespace tilescope {

// JSON: one track a warp (instructions, and waits by cause), one a pipe of each scheduler, one for copies. A clock is
// shown as a nanosecond. The loop must have been simulated with events.
std::string timeline_json(const std::string& kernel, const CodeSummary& code, const KernelSimulation& simulation,
                          const SimulatedLoop& loop);

}  // namespace tilescope
