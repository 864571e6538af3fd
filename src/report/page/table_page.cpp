#include "report/table_page.h"

#include <fmt/format.h>

#include "report/page/html_parts.h"
#include "report/page/page_template.h"
#include "report/text/text_format.h"

namespace tilescope {
namespace {

// Scrolls sideways on its own where the screen is narrow.
std::string picture_html(const std::string& svg) {
  if (svg.empty()) return {};
  return "<section aria-label=\"Picture\"><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
         "aria-label=\"Chart\">\n" +
         svg + "</div></section>\n";
}

}  // namespace

std::string render_table_page(const TablePage& page, const std::filesystem::path& assets) {
  using namespace report;
  std::vector<TableColumn> columns;
  std::string meanings, notes;
  for (const TablePage::Column& column : page.columns) {
    columns.push_back({column.title, false});
    meanings +=
        fmt::format("<li><strong>{}</strong>: {}</li>\n", escape_html(column.title), escape_html(column.meaning));
  }
  std::vector<std::vector<std::string>> html;
  for (const std::vector<std::string>& row : page.cells) {
    auto& cells = html.emplace_back();
    for (const std::string& cell : row) cells.push_back(escape_html(cell));
  }
  for (const std::string& note : page.notes) notes += fmt::format("<p>{}</p>\n", escape_html(note));
  const TemplateValues values{{"title", escape_html(page.title)},
                              {"css", asset(assets, "page.css")},
                              {"meta", escape_html(page.meta)},
                              {"picture", picture_html(page.picture)},
                              {"heading", escape_html(page.heading)},
                              {"table", table_html(page.heading, columns, html)},
                              {"columns", meanings},
                              {"notes", notes}};
  return filled(asset(assets, "table.html"), values, assets / "table.html");
}

}  // namespace tilescope
