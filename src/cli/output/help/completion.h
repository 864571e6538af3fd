// Completion scripts of shells from the command table. Names of kernels, GPUs, ... are asked of `tilescope list` when
// they are wanted, so that a script stays right when kernels are added.
#pragma once

#include <string>

namespace tilescope::cli {

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace tilescope::cli
