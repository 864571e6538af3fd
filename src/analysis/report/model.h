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

struct ReportPoint {
  std::string id{}, kernel{}, label{}, dtype{}, bound_by{};
  std::string key{};  // its place in the list, as text: what the page's data calls it, since ids are long and recur
  Side predicted{};
  std::optional<Side> measured{};
};

// Sets the points' keys. A label that several points share gets the point's id as well.
void name_points(std::vector<ReportPoint>& points);

// One comparison: `ratio` is predicted / measured, `tolerance` the allowed |ratio - 1|, `reason` why that much.
struct ReportRow {
  std::string point{}, kernel{}, quantity{}, level{};
  Number predicted{}, measured{}, ratio{}, tolerance{};
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
  bool feasible = true;
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
  Hardware hardware{};
  std::vector<ReportPoint> points{};
  std::vector<ReportRow> rows{};
  std::vector<Summary> summary{};
  std::optional<TileMap> tile_map{};
  std::optional<ReportDerivation> derivation{};
  std::optional<Pictures> pictures{};
};

}  // namespace tilescope::analysis
