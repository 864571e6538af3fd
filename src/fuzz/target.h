// Readers that get bytes from outside, for a fuzzer and for the replay of its corpus.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilescope::fuzz {

struct Input {
  std::string bytes;
  std::string file;  // a file with these bytes
};

struct Target {
  std::string_view name;       // also of its folder in corpus/
  std::string_view file_name;  // of the input: some readers look at the ending
  void (*run)(const Input&);
  bool is_text = true;  // words and lines are exchanged, not only bytes
};

// One line a target; each is defined in targets/.
extern const Target baseline, block_mask, calls, capture, capture_facts, capture_trace, command_line, diagram, elf,
    errors, experiment, facts, hardware, kernel, listing, lowering, measured, ncu_csv, network, record, schedule, shard,
    sqlite, steps, trace_json, workload;

const std::vector<const Target*>& targets();

// nullptr: none of that name.
const Target* find_target(std::string_view name);

// Gives one input to a target. What a reader may answer ends here: bad input, an overflow it has found, no device. Any
// other exception is a defect and passes.
void run_target(const Target& target, std::string bytes);

// Runs `tilescope WORDS`, its output thrown away. Whether it ended with status 0 or 1.
bool run_words(const std::vector<std::string>& words);

// From here on the process prints nothing to stdout and nothing through std::cerr, and reads nothing from stdin.
void silence();

}  // namespace tilescope::fuzz
