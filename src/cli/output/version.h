// What --version says.
#pragma once

#include <string>

namespace tilescope::cli {

// Version, git revision of the build, CUDA and CUPTI, and the schemas that the program reads and writes.
std::string version_text();

// Version and git revision alone: "0.1.0, revision 0443b8255de7".
std::string program_version();

}  // namespace tilescope::cli
