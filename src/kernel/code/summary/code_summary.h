// What a kernel's machine code does, free of any GPU's rates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernel/code/summary/counts.h"
#include "kernel/code/summary/roles.h"

namespace tilescope {

struct CodeBlock {
  std::uint64_t first = 0, last = 0;    // addresses of its first and last instruction
  std::size_t begin = 0, end = 0;       // instructions [begin, end) of the section
  std::vector<std::size_t> successors;  // blocks
  std::optional<std::size_t> loop;      // the innermost one around it
  std::vector<std::size_t> roles;       // whose warps may reach it
  bool reached = true;                  // false: padding, or code that only an indirect branch finds
  CodeCounts counts;
};

struct CodeLoop {
  std::uint64_t header = 0;             // address
  std::optional<std::size_t> parent{};  // loop
  int depth = 1;
  std::vector<std::size_t> blocks;     // without those of inner loops
  std::vector<std::size_t> main_path;  // of the blocks, those that every pass executes, in their order
  std::vector<std::size_t> roles;
  bool waits = false;    // it does nothing but try again: for a barrier, for registers
  CodeCounts always;     // instructions of a pass, without inner loops, that every pass executes
  CodeCounts sometimes;  // those under a branch within the pass
};

struct CodeRole {
  std::vector<std::pair<int, int>> warps;   // of a block: first and last of each range
  std::optional<std::int64_t> registers{};  // of a thread, after USETMAXREG; none: the kernel's
  std::vector<std::size_t> loops;
  CodeCounts own;     // of blocks that no other role reaches
  CodeCounts shared;  // of blocks that other roles reach too
};

struct CodeSummary {
  CodeSection section;
  std::vector<CodeBlock> blocks;
  std::vector<CodeLoop> loops;  // outer before inner
  std::vector<CodeRole> roles;
  CodeCounts counts;                                                 // of all blocks that are reached
  int warps = 0;                                                     // of a block, as far as the roles were sought
  std::vector<std::pair<std::uint64_t, std::uint64_t>> irreducible;  // jumps into a cycle with several entries
  bool unknown_targets = false;                                      // an indirect branch without a table
};

// `most_threads`: of a block; 0: not stated, roles are sought among 32 warps.
CodeSummary summarise(CodeSection section, std::int64_t most_threads);

}  // namespace tilescope
