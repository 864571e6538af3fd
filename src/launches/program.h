// What a program launched: its attention launches as records that can be predicted, or what is missing for that.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "import/given_points.h"
#include "import/make_records.h"
#include "launches/kernel_facts.h"
#include "records/capture/summary.h"
#include "records/record.h"

namespace tilescope::launches {

// Launches of one kernel with one grid and one set of sizes.
struct AttentionLaunches {
  std::string kernel, symbol;                                 // short, and as the tool or the linker names it
  std::array<std::int64_t, 3> grid{0, 0, 0}, block{0, 0, 0};  // zeros: not known
  std::vector<std::string> ranges;
  std::int64_t launches = 0, timed = 0, counted = 0;
  std::optional<double> seconds;         // of all launches; the median of those that have a time stands for the others
  std::optional<double> median_seconds;  // of one launch
  std::optional<double> share;           // of the time of all kernels of the program
  std::string recognised;                // what was found in its code, or the descriptor that covers it
  std::string sizes_from;                // "option", "range", "call"; empty: not known
  std::string descriptor;                // text of the one that `describe` made; empty: a bundled one, or none
  std::vector<std::string> missing;      // why it is not predicted
  std::optional<validate::Record> record;  // absent: something is missing
};

struct ProgramLaunches {
  std::string from, hardware;  // hardware: profile; empty: no launch asked for it
  std::int64_t launches = 0, kernels = 0;
  std::optional<double> seconds;             // of all kernels
  std::vector<AttentionLaunches> attention;  // longest first
  std::vector<std::string> notes;
};

struct ProgramAsked {
  std::optional<std::string> hardware;       // as on the command line
  std::vector<imported::GivenPoint> points;  // sizes that the user states
  std::filesystem::path descriptors;         // folder that receives the described kernels
};

// What a user can do about launches whose sizes nothing states.
inline constexpr const char* unknown_sizes = "sizes: nothing states them";
inline constexpr const char* how_to_state_sizes =
    "state sizes as --point \"name=KERNEL batch=2 heads_q=16 q_len=4k mask=causal\", or push an NVTX range with such "
    "words "
    "(batch=... q_len=...) around the call";

// Whether a kernel's code is read: it takes a thousandth of the time, has no time, or is named like attention.
bool worth_reading(const capture::KernelShare& kernel);

ProgramLaunches launches_of_capture(const capture::Capture& found, KernelFacts& facts, const std::string& from,
                                    const ProgramAsked& asked);

// Of a file of another tool, after `recognise` and `make_records`.
ProgramLaunches launches_of_tool(const imported::ToolFile& file, const std::vector<imported::FoundRun>& runs,
                                 std::vector<validate::Record> records);

// Of records alone: no part of a program's time is known.
ProgramLaunches launches_of_records(std::vector<validate::Record> records, const std::string& from);

}  // namespace tilescope::launches
