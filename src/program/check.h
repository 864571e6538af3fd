// Programs executed one after the other against the direct evaluation of their diagram, on small ragged sizes.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "program/construct/build.h"
#include "program/interpret.h"

namespace tilescope {

// One kernel: an island of a schedule, and its program.
struct KernelProgram {
  Schedule schedule{};
  int island = 0;
  TileProgram program{};

  const Island& runs() const { return schedule.islands[static_cast<std::size_t>(island)]; }
};

// Every island of the schedules, in order. NoProgram: of the first that has none, with its name.
std::variant<std::vector<KernelProgram>, NoProgram> programs_of(const std::vector<Schedule>& schedules);

// Sizes and tiles that leave partial tiles, drawn from a seed: the same sizes for all kernels of a diagram.
struct SmallCase {
  std::vector<std::pair<std::string, std::int64_t>> sizes{};  // by the name of the size
  Mask mask{};
  std::uint64_t seed = 0;
};
SmallCase small_case(const Diagram& diagram, const Mask& mask, std::uint64_t seed);

// The diagram with the case's sizes as its own.
Diagram resized(Diagram diagram, const SmallCase& small);
// A tile for each parameter of the schedule.
std::vector<std::int64_t> small_tiles(const Schedule& schedule, const SmallCase& small);

struct CaseResult {
  std::vector<Execution> kernels{};  // what each moved
  std::vector<std::vector<std::int64_t>> tiles{};
  std::string failure{};  // empty: every output is what the diagram says
};

// Runs the kernels in order on random inputs and compares what they leave in memory, to 1e-9 of the largest value.
// `alone`: they are a part of the diagram; arrays that they do not store are in memory already.
CaseResult run_case(const Diagram& diagram, const std::vector<KernelProgram>& kernels, const SmallCase& small,
                    bool alone = false);

}  // namespace tilescope
