// A derivation as text, tables and JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/page_section.h"
#include "derive/derivation.h"

namespace tilescope {

// Sections: axes and roles, streams, ranked schedules, the best schedule in full, lower bounds, named schedules.
// `in_full`: the named schedule whose exact counts are listed; empty: none.
std::vector<PageSection> derivation_sections(const Derivation& derivation, const Diagram& diagram,
                                             const std::string& in_full);

// The legal schedules, best first: one table.
PageSection ranking_section(const Derivation& derivation);

// {"schema": "tilescope/derivation/1", ...}
nlohmann::ordered_json derivation_json(const Derivation& derivation, const Diagram& diagram);

}  // namespace tilescope
