// What `derive` found, in words and tables: the same sections as text and HTML. `in_full`: the named schedule whose
// exact counts are listed; empty: none.
#pragma once

#include "cli/output/table.h"
#include "derive/derivation.h"
#include "draw/derivation_page.h"

namespace tilescope::cli {

std::vector<PageSection> derivation_sections(const Derivation& derivation, const Diagram& diagram,
                                             const std::string& in_full);

std::string sections_as_text(const std::vector<PageSection>& sections);

// {"schema": "tilescope/derivation/1", ...}
Json derivation_json(const Derivation& derivation, const Diagram& diagram);

}  // namespace tilescope::cli
