// A program as text.
#pragma once

#include <functional>
#include <string>

#include "program/program.h"

namespace tilescope {

struct PrintOptions {
  bool masked = true;                      // there is a mask: "where live", and what memory holds where nothing is live
  int depth = 0;                           // of indentation
  std::function<std::string(int)> loop{};  // text of a loop by its position, instead of "for each tile of"
  std::function<std::string(const Statement&)> note{};  // a remark on a statement, in a column of its own
};

// Indented statements, one a line: what is printed is what interpret() executes.
std::string to_text(const TileProgram& program, const Schedule& schedule, const PrintOptions& options = {});

}  // namespace tilescope
