// What a report shows: points predicted and measured, the comparison, a map of tiles, a derivation, pictures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/number.h"
#include "analysis/pictures/model.h"
#include "base/verdict.h"

namespace tilescope::analysis {

struct Traffic {
  std::string level{};
  Number read_bytes{}, write_bytes{};
  Number operand_read_bytes{};  // the part of the reads that feeds matrix instructions; it has a counter of its own
};

// Counts by name (tensor_flop, exp, ...), in the order in which they are printed.
using Counts = std::vector<std::pair<std::string, double>>;
Number count_of(const Counts& counts, const std::string& name);         // empty: no such name
void set_count(Counts& counts, const std::string& name, double value);  // replaces a count of this name

// What was predicted for a point, or what was measured.
struct Side {
  std::vector<Traffic> traffic{};
  Counts work{};
  Number seconds{}, seconds_cold{}, clock_hz{};
};

// What one change would save: a part of the time. `key` names what is 10 % faster (Lever).
struct Saving {
  std::string key{};
  double part = 0;
};

// The error that is stated for a time: nine of ten of `n` measurements stay within `p90`.
struct StatedError {
  double p90 = 0, n = 0;
  std::string borrowed_from{};  // empty: measurements of this kernel on this GPU
};

struct ReportPoint {
  std::string id{}, kernel{}, label{}, dtype{}, bound_by{};
  std::string key{};  // its place in the list, as text: what the page's data calls it, since ids are long and recur
  std::string gpu{}, formats{}, tile{};  // Hardware::id; formats of all arrays and the tile, as --dtype and --tile
  bool modelled = true;                  // false: the predicted time is a lower bound
  Side predicted{};
  std::optional<Side> measured{};
  std::optional<StatedError> error{};
  std::optional<TimeSplit> split{};
  std::vector<Saving> savings{};  // largest first; those that save something
};

// A point that was asked for and has no time.
struct RefusedPoint {
  std::string label{}, reason{};
};

// Sets the points' keys. A label that several points share gets the point's id as well.
void name_points(std::vector<ReportPoint>& points);

// One comparison: `ratio` is predicted / measured, `tolerance` the allowed |ratio - 1|, `reason` why that much.
struct ReportRow {
  std::string point{}, kernel{}, quantity{}, level{};
  Number predicted{}, measured{}, ratio{}, tolerance{};
  double slack = 0;                  // the absolute difference that is allowed as well
  std::optional<Verdict> verdict{};  // absent when nothing was compared
  std::string reason{};
};

// Absolute relative errors over n rows, as fractions.
struct Summary {
  std::string kernel{}, quantity{}, level{};
  Number n{}, failed{}, mean{}, median{}, p90{}, worst{};
};

struct Roof {
  std::string level{}, basis{};
  double bytes_per_second = 0;
};

struct Peak {
  std::string dtype{}, path{};
  double flop_per_second = 0;
};

struct Hardware {
  std::string id{}, name{}, chip{};
  std::vector<Roof> roofs{};
  std::vector<Peak> peaks{};
};

struct Tile {
  double q = 0, kv = 0, warps = 0;
  Number pack{}, stages{};  // where the schedule has them
  bool feasible = true;
  bool built = true;                  // the kernel has an instance of this tile
  Number seconds{}, l2_read_bytes{};  // when feasible
  std::string level{};                // when not: the memory that is too small
  Number needed_bytes{}, available_bytes{};
};

struct TileMap {
  std::string title{}, kernel{}, hardware{};
  std::vector<Tile> cells{};
};

struct ReportTerm {
  std::string island{}, boundary{}, array{}, direction{}, kind{}, formula{};
  Number bytes{};
  std::vector<std::string> because{};
};

struct ReportDerivation {
  std::string point{}, title{}, pseudocode{};
  std::vector<std::string> paragraphs{};
  std::vector<ReportTerm> terms{};
};

struct Report {
  std::string title{}, generated{}, revision{};
  std::vector<std::string> notes{};  // how it was measured, a sentence each; empty: the page's general words
  std::vector<Hardware> gpus{};
  std::vector<ReportPoint> points{};
  std::vector<RefusedPoint> refused{};
  std::vector<ReportRow> rows{};
  std::optional<Summary> time_error{};  // of all rows with a time
  std::vector<Summary> summary{};
  std::optional<TileMap> tile_map{};
  std::optional<ReportDerivation> derivation{};
  std::optional<Pictures> pictures{};
};

}  // namespace tilescope::analysis
