// Writes a ranked schedule as a file of tilescope/schedule/1, which holds its diagram.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "derive/derivation.h"

namespace tilescope {

struct SavedSchedule {
  std::string yaml;
  // Whether its islands run the diagram's own operators. Else the file's diagram is the one of primitives: a kernel
  // computes a part of a softmax.
  bool own_operators = false;
  std::vector<std::string> kernels{};  // "O, L [q:G][x:S] in 64 blocks" with the tiles of the derivation
};

// The schedule at this position of the derivation's ranking, under this name. The text is read back, and its kernels,
// loops and unread arrays are those of the ranking. Throws InputError if it cannot be written so.
SavedSchedule saved_schedule(const Derivation& derivation, std::size_t rank, const std::string& name,
                             const std::filesystem::path& models_directory);

}  // namespace tilescope
