// Headed sections of paragraphs, listings and tables as text, Markdown or CSV.
#pragma once

#include <string>
#include <vector>

#include "base/page_section.h"
#include "cli/output/table.h"

namespace tilescope::cli {

std::string render_sections(const std::vector<PageSection>& sections, const Style& style);  // text or Markdown
Table table_of(const PageTable& table);

}  // namespace tilescope::cli
