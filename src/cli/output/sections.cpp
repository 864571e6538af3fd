#include "cli/output/sections.h"

#include "cli/output/terminal.h"

namespace tilescope::cli {

Table table_of(const PageTable& table) {
  Table result{.title = table.title, .columns = table.columns, .rows = {}};
  for (const auto& row : table.rows) {
    result.rows.emplace_back(row.begin(), row.end());
    result.rows.back().resize(table.columns.size(), Json(""));
  }
  return result;
}

std::string render_sections(const std::vector<PageSection>& sections, const Style& style) {
  const bool markdown = style.format == OutputFormat::md;
  const std::string after = markdown ? "\n\n" : "\n";
  std::string text;
  for (const PageSection& section : sections) {
    text += text.empty() ? "" : "\n";
    text += markdown ? "## " + section.heading + "\n\n"
                     : bold(section.heading, style.colour) + "\n" + std::string(section.heading.size(), '=') + "\n";
    for (const std::string& paragraph : section.paragraphs) text += paragraph + after;
    for (const std::string& listing : section.listings) text += markdown ? "```\n" + listing + "```\n" : "\n" + listing;
    for (const PageTable& table : section.tables)
      if (!table.rows.empty()) text += "\n" + render(table_of(table), style);
  }
  return text;
}

}  // namespace tilescope::cli
