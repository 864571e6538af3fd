// Sections of a document as plain text.
#pragma once

#include <string>
#include <vector>

#include "base/page_section.h"

namespace tilescope::cli {

// Headings underlined, tables aligned; a table without rows is left out.
std::string sections_as_text(const std::vector<PageSection>& sections);

}  // namespace tilescope::cli
