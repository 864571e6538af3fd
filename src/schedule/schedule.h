// A schedule: which axis is grouped (over blocks) or streamed (inside a block), in which order, with which tile, and
// which operators share a kernel (an island). Names in models/schedules/ only label points of this space.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "diagram/diagram.h"

namespace tilescope {

inline constexpr std::size_t max_parameters = 8;
inline constexpr std::size_t max_loops = 12;  // of an island

enum class Partition { group, stream };

// A tile size: a literal, or the value of a schedule parameter.
struct TileSize {
  int parameter = -1;  // position in Schedule::parameters, -1: literal
  std::int64_t literal = 1;
};

struct Loop {
  AxisId axis;
  Partition partition;
  TileSize tile;
};

// A fused region: one kernel. Loops stand outermost first, all groups before the streams.
struct Island {
  std::string name;
  std::vector<int> operators;  // positions in Diagram::operators
  std::vector<ArrayId> omits;  // outputs of its operators that this island does not store
  bool skips_masked_tiles = false;
  std::vector<Loop> loops;
};

struct Parameter {
  std::string name;
  std::int64_t default_value;
};

struct Schedule {
  std::string name, summary;
  Diagram diagram;
  std::vector<Parameter> parameters;
  std::vector<Island> islands;

  // Whether the island reads / writes the array at the outer level. An array that one island both writes and reads and
  // that no other island uses stays on chip and is neither.
  bool reads(const Island& island, ArrayId id) const;
  bool writes(const Island& island, ArrayId id) const;

  int find_parameter(const std::string& parameter_name) const;  // -1: none
  int find_island(const std::string& island_name) const;        // -1: none
};

// Reads models/schedules/*.yaml and the diagram it names from models/diagrams. Throws InputError with every finding.
Schedule load_schedule(const std::filesystem::path& file, const std::filesystem::path& models_directory);

// A shipped schedule's name or a file. InputError with did-you-mean.
Schedule find_schedule(const std::string& name_or_file, const std::filesystem::path& models_directory);

// Names of the shipped files of one kind ("schedules", "workloads"), sorted.
std::vector<std::string> shipped_names(const std::filesystem::path& directory);

}  // namespace tilescope
