// Basic blocks of a section of code and the edges between them.
#pragma once

#include "kernel/code/flow/graph.h"
#include "kernel/code/sass/instruction.h"

namespace tilescope {

// Where control goes after an instruction.
struct Transfer {
  bool ends_block = false;
  bool falls_through = true;  // the next instruction may follow
  bool jumps = false;         // one of its targets may follow
};
Transfer transfer_of(const Instruction& instruction);

struct BasicBlock {
  std::size_t first = 0, end = 0;  // instructions [first, end) of the section
};

struct FlowGraph {
  std::vector<BasicBlock> blocks;     // in the order of the section
  std::vector<std::size_t> block_of;  // of each instruction
  Graph graph;                        // nodes are blocks; roots: the kernel's entry and local functions
  bool unknown_targets = false;       // an indirect branch does not name where it goes
  bool leaves_end = false;            // control may run past the last instruction

  std::size_t block_at(std::uint64_t address) const;
};
FlowGraph flow_graph(const CodeSection& section);

}  // namespace tilescope
