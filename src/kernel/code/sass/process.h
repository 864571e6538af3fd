// Runs another program and reads what it prints.
#pragma once

#include <string>
#include <vector>

namespace tilescope {

struct ProcessResult {
  int status = 0;  // exit status; 128 and the signal's number if a signal ended it
  std::string output;
  std::string errors;  // at most its first 64 KiB
};

// Runs words[0], a path, with the other words as arguments and no shell. Throws InputError when it cannot be started.
ProcessResult run_process(const std::vector<std::string>& words);

}  // namespace tilescope
