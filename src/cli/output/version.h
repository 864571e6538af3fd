// What --version says.
#pragma once

#include <string>

namespace tilescope::cli {

// Version, git revision of the build, CUDA and CUPTI, and the schemas that the program reads and writes.
std::string version_text();

}  // namespace tilescope::cli
