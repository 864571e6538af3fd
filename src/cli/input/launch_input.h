// The attention launches of a capture, of records, or of a file that `import` reads.
#pragma once

#include <filesystem>
#include <string>

#include "cli/input/options.h"
#include "launches/program.h"

namespace tilescope::cli {

// Reads --hardware, --point, --kernel, --caches, --ignore and --nvdisasm of `arguments`. `descriptors`: a folder that
// receives the described kernels.
launches::ProgramLaunches read_launches(const Arguments& arguments, const std::string& place,
                                        const std::filesystem::path& descriptors);

}  // namespace tilescope::cli
