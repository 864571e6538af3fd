// A page with one table and what its columns mean. It has no script.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tilescope {

struct TablePage {
  struct Column {
    std::string title, meaning;
  };
  std::string title, meta, heading;  // of the page, below it, of the table
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> cells;  // text, a row each
  std::vector<std::string> notes;
  std::string picture = {};  // markup of an SVG above the table; empty: none
};

// `assets` holds table.html and page.css (reports/assets).
std::string render_table_page(const TablePage& page, const std::filesystem::path& assets);

}  // namespace tilescope
