// Carries out the integer code of one thread of a launch: which memory it addresses and how often it runs each loop.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kernel/code/sass/instruction.h"
#include "kernel/code/trace/decode.h"
#include "kernel/code/trace/needed.h"
#include "kernel/code/trace/traced_launch.h"
#include "kernel/code/trace/word.h"

namespace tilescope {

// A load, store or copy of global memory.
struct TracedAccess {
  std::size_t instruction = 0;  // place in the section
  std::uint64_t address = 0;
  bool known = false;            // the address
  std::uint16_t origin = 0;      // Word::origin
  std::int64_t shared = -1;      // of cp.async: where in shared memory; -1: another instruction, or not known
  std::int64_t map_offset = -1;  // of a tensor map among the parameters; -1: none, or not known
  std::vector<std::int64_t> coordinates{};  // of a copy by a tensor map, innermost first; empty: not all are known
};

// A wait for a phase of a barrier in shared memory.
struct TracedWait {
  std::size_t instruction = 0;
  std::uint32_t address = 0, phase = 0;
};

struct ThreadRun {
  std::vector<std::int64_t> executed;  // by instruction
  std::vector<TracedAccess> accesses;
  std::int64_t guesses = 0;         // branches on integers from memory, which were taken to go on
  std::int64_t float_guesses = 0;   // and on other unknown values
  bool claims = false;              // it takes a number from a counter in memory
  std::set<std::size_t> undecided;  // branches on unknown values
  std::vector<TracedWait> waits;    // whose barrier and phase are known
  // By instruction, what it first had, if that was known: a matrix load its address in shared memory, an arrival at a
  // barrier the bytes that the barrier waits for.
  std::map<std::size_t, std::uint32_t> matrix_loads, expected_bytes;
  std::string stopped;  // why the thread did not reach its end; empty: it did
  // Of all of the above but addresses of accesses whose array is not known.
  VaryingWords varies = 0;
};

class ThreadMachine {
 public:
  // `whole`: instructions that decide neither an address nor a branch are carried out as well, which changes no result.
  ThreadMachine(const CodeSection& section, TracedLaunch launch, bool whole = false);

  // Waits for barriers end at once. Values from memory that the thread did not write itself are unknown.
  // `distance`: by instruction, how far it is from a place; a branch that is not known leads to the nearer one. Empty:
  // such branches go on.
  ThreadRun run(const std::array<std::uint32_t, 3>& block, const std::array<std::uint32_t, 3>& thread,
                std::int64_t most_instructions, const std::vector<std::uint32_t>& distance = {}) const;

  // Offsets of the four-byte words of the parameters that the code names.
  const std::set<std::int64_t>& words_read() const { return words_read_; }
  const TracedLaunch& launch() const { return launch_; }

 private:
  friend class RunningThread;
  const CodeSection& section_;
  TracedLaunch launch_;
  bool whole_;
  std::vector<DecodedInstruction> decoded_;
  NeededCode needed_;
  std::vector<bool> float_loads_;
  std::set<std::int64_t> words_read_;
  std::set<std::int64_t> pointers_;
};

}  // namespace tilescope
