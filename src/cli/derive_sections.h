// What `derive` found, in words and tables: the same sections as text, Markdown-like listings and HTML.
#pragma once

#include "cli/table.h"
#include "derive/derivation.h"
#include "draw/derivation_page.h"

namespace tilescope::cli {

std::vector<PageSection> derivation_sections(const Derivation& derivation, const Diagram& diagram);

std::string sections_as_text(const std::vector<PageSection>& sections);

// {"schema": "tilescope/derivation/1", ...}
Json derivation_json(const Derivation& derivation, const Diagram& diagram);

}  // namespace tilescope::cli
