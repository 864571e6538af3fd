// What the pages render, under the names of this room, and small questions that several sections ask of it.
#pragma once

#include <string>
#include <vector>

#include "analysis/family/model.h"
#include "analysis/pictures/model.h"
#include "analysis/report/model.h"

namespace tilescope::report {

using namespace analysis;

// The comparison's rows, then one row a number that a point has and the comparison does not mention.
std::vector<ReportRow> all_rows(const Report& report);

// True when the level's measurements hold operand reads but no total: then only operand reads can be set side by side.
bool only_operands(const Report& report, const std::string& level);

// What charts show of a side at a level, like set beside like: operand reads alone when `operands` (only_operands).
analysis::Traffic shown_traffic(const Side& side, const std::string& level, bool operands);

// The point's label, or `id` itself for an id that no point has.
std::string label_of(const Report& report, const std::string& id);

// What a page calls the unit of a split; `key` itself for an unknown one.
std::string unit_name(const std::string& key);

// "569 records of 27 kernels (experiments blind, decode, ...)".
std::string records_text(const Pictures& pictures);

// The pictures' numbers as Markdown: DRAM over length, error bars, parts of time, clock and power. Empty: nothing to
// say.
std::string pictures_markdown(const Pictures& pictures);

}  // namespace tilescope::report
