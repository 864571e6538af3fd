// The report's input as plain values: read once from JSON, then only rendered.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/pictures.h"

namespace tilescope::report {

using Number = std::optional<double>;  // empty: the input does not have it; shown as a dash, never as zero

struct Traffic {
  std::string level{};
  Number read_bytes{}, write_bytes{};
  Number operand_read_bytes{};  // the part of the reads that feeds matrix instructions; it has a counter of its own
};

// What was predicted for a point, or what was measured.
struct Side {
  std::vector<Traffic> traffic{};
  std::map<std::string, double> work{};  // tensor_flop, exp, ...: counts by name
  Number seconds{}, seconds_cold{}, clock_hz{};
};

struct ReportPoint {
  std::string id{}, kernel{}, label{}, dtype{}, bound_by{};
  std::string key{};  // its place in the list, as text: what the page's data calls it, since ids are long and recur
  Side predicted{};
  std::optional<Side> measured{};
};

// One comparison: `ratio` is predicted / measured, `tolerance` the allowed |ratio - 1|, `reason` why that much.
struct ReportRow {
  std::string point{}, kernel{}, quantity{}, level{};
  Number predicted{}, measured{}, ratio{}, tolerance{};
  std::string verdict{};  // pass, fail, info; empty when nothing was compared
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
  double q = 0, kv = 0;
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
  std::string boundary{}, array{}, direction{}, formula{};
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

// Throws InputError with every wrong field: "points[3].prediction.traffic: expected a list, found a string".
Report read_report(const nlohmann::json& data);

// The comparison's rows, then one row a number that a point has and the comparison does not mention.
std::vector<ReportRow> all_rows(const Report& report);

// True when the level's measurements hold operand reads but no total: then only operand reads can be set side by side.
bool only_operands(const Report& report, const std::string& level);

// What charts show of a side at a level, like set beside like: operand reads alone when `only_operands`.
Traffic shown_traffic(const Report& report, const Side& side, const std::string& level);

// The point's label, or `id` itself for an id that no point has.
std::string label_of(const Report& report, const std::string& id);

}  // namespace tilescope::report
