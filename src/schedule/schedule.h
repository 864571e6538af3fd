// A schedule: which axis is grouped (over blocks) or streamed (inside a block), in which order, with which tile, and
// which operators share a kernel (an island). Names in models/schedules/ only label points of this space.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/checked.h"
#include "diagram/diagram.h"

namespace tilescope {

inline constexpr std::size_t max_parameters = 8;
inline constexpr std::size_t max_loops = max_axes;  // of an island

enum class Partition { group, stream };

// A tile size: a literal, or the value of a schedule parameter; or the number of equal parts that an axis is cut into.
struct TileSize {
  int parameter = -1;  // position in Schedule::parameters, -1: literal
  std::int64_t literal = 1;
  bool parts = false;

  std::int64_t value(std::int64_t size, std::span<const std::int64_t> parameters) const {
    const std::int64_t given = parameter < 0 ? literal : parameters[static_cast<std::size_t>(parameter)];
    return parts ? ceil_div(size, given) : given;
  }
};

struct Loop {
  AxisId axis;
  Partition partition;
  TileSize tile;
};

// How an output that more than one visit adds to lives at the outer level.
enum class Accumulate {
  rewriting,  // read, added to, written back
  atomic,     // an atomic addition at the level, counted as a read and a write
  reduction,  // the same where only the addend crosses the boundary
};

// A result of an island and the array it is kept in.
struct Stored {
  ArrayId result, as;
  Accumulate by = Accumulate::rewriting;
  bool zeroed = false;  // the array is initialised at the level beforehand; else the first visit stores
};

// A fused region: one kernel. Loops stand outermost first, all groups before the streams.
struct Island {
  std::string name;
  std::vector<int> operators;     // positions in Diagram::operators
  std::vector<ArrayId> omits;     // outputs of its operators that this island does not store
  std::vector<ArrayId> unread{};  // arrays of its operators that cancel out of all that it computes
  bool skips_masked_tiles = false;
  bool merges_tiles = false;  // a tile is folded by itself and then merged: both sides are rescaled, not only the state
  std::vector<Loop> loops;
  std::vector<Stored> stored_as;         // results that are not simply stored once as themselves
  std::vector<ArrayId> left_to_merge{};  // results of parts that follow from the other results when these are merged
};

// An axis that counts the chunks of another one, which an island folds in independent parts.
struct Chunking {
  AxisId axis, of;
  TileSize length;
  TileSize unit{};  // the length is a multiple of it

  std::int64_t length_in(std::int64_t size, std::span<const std::int64_t> parameters) const {
    const std::int64_t whole = unit.value(size, parameters);
    return ceil_div(length.value(size, parameters), whole) * whole;
  }
};

struct Parameter {
  std::string name;
  std::int64_t default_value;
};

struct Schedule {
  std::string name, summary;
  Diagram diagram;  // with what the islands' loops add: chunks, partial results, accumulators, running state
  Diagram source;   // as it was read
  std::vector<Parameter> parameters;
  std::vector<Island> islands;
  std::vector<Chunking> chunks;

  // Whether the island reads / writes the array at the outer level. An array that one island both writes and reads and
  // that no other island uses stays on chip and is neither.
  bool reads(const Island& island, ArrayId id) const;
  bool writes(const Island& island, ArrayId id) const;
  // How it writes the array; one that is not listed in stored_as is stored as itself.
  Stored how_stored(const Island& island, ArrayId id) const;

  int find_parameter(const std::string& parameter_name) const;  // -1: none
  int find_island(const std::string& island_name) const;        // -1: none
};

// Reads models/schedules/*.yaml and the diagram it names from models/diagrams, or another diagram that has the same
// axes and operators. Throws InputError with every finding.
Schedule load_schedule(const std::filesystem::path& file, const std::filesystem::path& models_directory,
                       const std::string& other_diagram = {});

// A shipped schedule's name or a file. InputError with did-you-mean.
Schedule find_schedule(const std::string& name_or_file, const std::filesystem::path& models_directory,
                       const std::string& other_diagram = {});
Diagram find_diagram(const std::string& name_or_file, const std::filesystem::path& models_directory);

// Names of the shipped files of one kind ("schedules", "workloads"), sorted.
std::vector<std::string> shipped_names(const std::filesystem::path& directory);

}  // namespace tilescope
