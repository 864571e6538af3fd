// Why a file cannot be opened, in the words of every reader.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

namespace tilescope {

inline std::string open_problem(int error) {
  if (error == ENOENT || error == ENOTDIR) return "no such file; check the path";
  return "cannot be opened: " + std::string(std::strerror(error));
}

}  // namespace tilescope
