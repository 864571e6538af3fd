// What a launch shows of its sizes: integers among its parameters, tensor maps, and which bytes of which array its
// blocks read. Found by carrying out the integer code of some of its blocks; small enough to be stored.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernel/code/summary/code_summary.h"
#include "kernel/code/trace/thread_run.h"

namespace tilescope {

struct TensorMapShape {
  std::int64_t offset = 0;  // among the parameters
  std::int64_t element_bytes = 0;
  std::vector<std::int64_t> dims, strides, box;  // innermost first; strides: bytes, without the innermost
};

// How the first thread of a warp walks over one array in one tile of queries.
struct ArrayVisit {
  std::int64_t array = 0;  // offset of its pointer or tensor map among the parameters
  bool stored = false;
  std::int64_t first = 0, last = 0;  // smallest and largest offset in bytes
  std::int64_t step = 0;             // bytes from one pass of a loop to the next; negative: downwards; 0: no loop

  std::int64_t steps() const { return step == 0 ? 1 : (last - first) / (step < 0 ? -step : step) + 1; }
  friend bool operator==(const ArrayVisit&, const ArrayVisit&) = default;
};

struct BlockVisit {
  std::array<std::int64_t, 3> block{0, 0, 0};
  std::int64_t tile = 0;  // of those that a persistent block takes one after the other
  std::vector<ArrayVisit> arrays;
};

struct LaunchEvidence {
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::vector<std::int64_t> words;    // integers among the parameters that the code names; each once, ascending
  std::vector<std::int64_t> numbers;  // that the code compares integers with
  std::vector<TensorMapShape> maps;
  std::vector<BlockVisit> blocks;
  std::int64_t guesses = 0;  // branches on values from memory, at most of one thread
  bool claims = false;       // blocks take the place of each tile but their first from a counter in memory
  std::string stopped;       // why threads did not reach their end
  VaryingWords varies = 0;   // what it depends on; not stored
};

struct EvidenceInput {
  const CodeSummary& code;
  TracedLaunch launch;
  std::vector<TensorMapShape> maps;
};
LaunchEvidence launch_evidence(const EvidenceInput& input);

// One line of JSON, and back. Reading throws InputError that names `file`.
std::string evidence_json(const LaunchEvidence& evidence);
LaunchEvidence read_evidence(const std::string& json, const std::string& file);

}  // namespace tilescope
