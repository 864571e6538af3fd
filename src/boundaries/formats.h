// What a change of number format does to the least traffic: q^(1+beta) for a term of exponent beta, where q is the
// ratio of the widths (Napkin, arXiv 2412.03317, section 5.2; theory 2.4).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/page_section.h"
#include "boundaries/kernels.h"

namespace tilescope {

// Bytes of one format, and of the formats before it divided by them.
struct FormatTerm {
  std::string format, array;  // array: "K load", or "all" of the terms of this exponent
  double beta = 0;
  std::optional<double> factor;       // q^(1+beta); empty: the arrays' widths have no common ratio
  std::optional<double> law;          // alpha(first) / alpha(this) of the laws in bytes: state keeps its own width
  double bytes_first = 0, bytes = 0;  // counted exactly at each format's own best tiles
  double counted() const { return bytes > 0 ? bytes_first / bytes : 0; }
};

struct FormatCase {
  std::string format;
  BoundSchedule schedule;
  std::vector<std::string> tiles;  // a text a kernel
};

struct FormatChange {
  std::vector<FormatCase> cases;  // the first is what the others are compared with
  std::vector<FormatTerm> terms;
  std::string open_because;  // why there is no prediction; empty: there is one
};

// The same schedule in other formats with the same memory in bytes. `requests`: one a format, all with widths.
FormatChange format_change(const BoundSchedule& schedule, const std::vector<std::string>& formats,
                           const std::vector<DeriveRequest>& requests);

PageSection formats_section(const FormatChange& change);
nlohmann::ordered_json formats_json(const FormatChange& change);

}  // namespace tilescope
