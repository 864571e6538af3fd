// The derivation at every memory boundary of a GPU: levels are optimised independently and their costs added
// (theory 2.2).
#pragma once

#include "derive/derivation.h"
#include "draw/derivation_page.h"
#include "hardware/profile.h"

namespace tilescope::cli {

// Memory and best schedule at each boundary, its traffic, and the time at the boundary's bandwidth. Values of
// `value_bytes` each; a boundary whose capacity or bandwidth the profile lacks says so.
PageSection levels_section(const DeriveRequest& request, const std::filesystem::path& models_directory,
                           const HardwareProfile& hardware, double value_bytes);

}  // namespace tilescope::cli
