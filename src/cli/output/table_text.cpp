// A table as text, in any width.
#include <fmt/format.h>

#include <algorithm>

#include "cli/output/fit.h"
#include "cli/output/table.h"
#include "cli/output/terminal.h"

namespace tilescope::cli {
namespace {

constexpr std::size_t gap = 2;           // characters between columns
constexpr std::size_t most_packed = 24;  // characters that a column takes at least, before the next block begins
constexpr std::size_t least_text = 12;   // characters that a folded column of text keeps

struct Layout {
  std::vector<std::size_t> widths;
  std::vector<bool> is_text;  // by column: may be folded
  std::size_t total() const {
    std::size_t sum = 0;
    for (const std::size_t width : widths) sum += width + gap;
    return sum - std::min(sum, gap);
  }
};

Layout layout_of(const Table& table) {
  Layout layout;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::size_t width = shown_width(table.columns[c]);
    bool text = false;
    for (const auto& row : table.rows) {
      width = std::max(width, shown_width(shown_cell(row[c])));
      text = text || row[c].is_string();
    }
    layout.widths.push_back(width), layout.is_text.push_back(text);
  }
  return layout;
}

// Narrows the widest columns of text, and columns whose heading is wider than their numbers, until the table fits.
void narrow(const Table& table, Layout& layout, std::size_t width) {
  std::vector<std::size_t> least = layout.widths;
  for (std::size_t c = 0; c < least.size(); ++c) {
    std::size_t widest = 4;
    for (const auto& row : table.rows)
      if (!row[c].is_string()) widest = std::max(widest, shown_width(shown_cell(row[c])));
    const std::size_t floor = layout.is_text[c] ? std::max(least_text, widest) : std::max<std::size_t>(8, widest);
    least[c] = std::min(least[c], floor);
  }
  while (layout.total() > width) {
    std::size_t widest = least.size();
    for (std::size_t c = 0; c < least.size(); ++c)
      if (layout.widths[c] > least[c] && (widest == least.size() || layout.widths[c] > layout.widths[widest]))
        widest = c;
    if (widest == least.size()) return;
    --layout.widths[widest];
  }
}

// One row of cells, each folded to its column's width.
std::string row_text(const std::vector<std::string>& cells, const std::vector<bool>& right, const Layout& layout) {
  std::vector<std::vector<std::string>> lines;
  std::size_t height = 1;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    lines.push_back(folded(cells[c], layout.widths[c]));
    height = std::max(height, lines.back().size());
  }
  std::string out;
  for (std::size_t l = 0; l < height; ++l) {
    std::string text;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string part = l < lines[c].size() ? lines[c][l] : "";
      const std::string blanks(layout.widths[c] - std::min(layout.widths[c], shown_width(part)), ' ');
      text += (c ? std::string(gap, ' ') : "") + (right[c] ? blanks + part : part + blanks);
    }
    out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

std::string block_text(const Table& table, const Layout& layout) {
  const std::vector<bool> left(table.columns.size(), false);
  std::vector<std::string> rules;
  for (const std::size_t width : layout.widths) rules.emplace_back(width, '-');
  std::string out = row_text(table.columns, left, layout) + row_text(rules, left, layout);
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    std::vector<bool> right;
    for (const Json& cell : row) cells.push_back(shown_cell(cell)), right.push_back(cell.is_number());
    out += row_text(cells, right, layout);
  }
  return out;
}

// Prints the columns in blocks that fit. Each block begins with the row number.
std::string blocks_text(const Table& table, const Layout& layout, std::size_t width) {
  std::string out;
  for (std::size_t first = 0; first < table.columns.size();) {
    Table block{.title = "", .columns = {"#"}, .rows = {}};
    Layout part{.widths = {shown_width(std::to_string(table.rows.size()))}, .is_text = {false}};
    for (std::size_t r = 0; r < table.rows.size(); ++r) block.rows.push_back({r + 1});
    std::size_t next = first, packed = part.total();
    do {
      block.columns.push_back(table.columns[next]);
      for (std::size_t r = 0; r < table.rows.size(); ++r) block.rows[r].push_back(table.rows[r][next]);
      part.widths.push_back(layout.widths[next]), part.is_text.push_back(layout.is_text[next]);
      packed += gap + std::min(layout.widths[next], most_packed);
      ++next;
    } while (next < table.columns.size() && packed + gap + std::min(layout.widths[next], most_packed) <= width);
    narrow(block, part, width);
    out += (first ? "\n" : "") + block_text(block, part);
    first = next;
  }
  return out;
}

}  // namespace

std::string render_text(const Table& table, const Style& style) {
  const std::string title =
      table.title.empty() ? ""
                          : bold(style.width > 0 ? fitted(table.title, style.width) : table.title, style.colour) + "\n";
  const Layout natural = layout_of(table);
  Layout layout = natural;
  if (style.width > 0) narrow(table, layout, style.width);
  if (style.width == 0 || layout.total() <= style.width) return title + block_text(table, layout);
  return title + blocks_text(table, natural, style.width);
}

}  // namespace tilescope::cli
