// A schedule and how it is implemented.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <filesystem>
#include <string>

#include "kernel/descriptor/descriptor.h"
#include "program/operations/operations.h"
#include "simulate/step_programs.h"

namespace tilescope {

// Of an island of an assumed implementation: when it touches its arrays, where that is not at every step that moves
// them.
struct ArrayTimes {
  std::bitset<max_arrays> loaded;                  // of every plan: Schedule::reads()
  std::array<std::uint32_t, max_arrays> awaits{};  // by ArrayId, a bit an axis: only after these folds are complete
  std::bitset<max_arrays> computed_again;          // a result that blocks or steps compute anew and do not add to
};

// What stays the same over a sweep: read once, shared by many points.
struct Plan {
  Schedule schedule;
  KernelDescriptor kernel;
  std::shared_ptr<const StepPrograms> steps;  // machine code of the kernel's steps, where it is known
  std::vector<ProgramOperations> operations;  // of an assumed implementation, by island
  std::vector<ArrayTimes> times;              // the same
  bool assumed = true;                        // the descriptor is the schedule's assumed implementation, not a kernel's
  bool shipped = false;  // the descriptor is that of a kernel in `kernels`, whose runs are recorded
};

// Reads the named kernel (or file) and its schedule, or the named schedule (on its own diagram or another one) and its
// assumed implementation.
// A schedule is completed by what the kernel does with it: sizes that follow from others, parts of whole tiles,
// reductions.
Plan load_plan_for_kernel(const std::string& name_or_file, const std::filesystem::path& data_directory);
Plan load_plan_for_schedule(const std::string& name_or_file, const std::filesystem::path& data_directory,
                            const std::string& other_diagram = {});

// Names and descriptor files of the kernels in the folders below `kernels_directory`, by name.
std::vector<std::pair<std::string, std::filesystem::path>> shipped_kernels(
    const std::filesystem::path& kernels_directory);

}  // namespace tilescope
