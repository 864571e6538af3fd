// Makes completion scripts of shells from the command table. A script calls `tilescope list` for the names of kernels,
// GPUs and so on, so it also offers kernels that are added later.
#pragma once

#include <string>

namespace tilescope::cli {

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace tilescope::cli
