#include "cli/output/sections_text.h"

#include "cli/output/table.h"

namespace tilescope::cli {

std::string sections_as_text(const std::vector<PageSection>& sections) {
  std::string text;
  for (const PageSection& section : sections) {
    text += (text.empty() ? "" : "\n") + section.heading + "\n" + std::string(section.heading.size(), '=') + "\n";
    for (const std::string& paragraph : section.paragraphs) text += paragraph + "\n";
    for (const std::string& listing : section.listings) text += "\n" + listing;
    for (const PageTable& page_table : section.tables) {
      Table table{.title = page_table.title, .columns = page_table.columns, .rows = {}};
      for (const auto& row : page_table.rows) table.rows.emplace_back(row.begin(), row.end());
      if (!table.rows.empty()) text += "\n" + render(table, OutputFormat::text);
    }
  }
  return text;
}

}  // namespace tilescope::cli
