#include "cli/output/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace tilescope::cli {
namespace {

// Numbers for people: integers in groups of three, others to four digits.
std::string pretty(const Json& cell) {
  if (cell.is_null()) return "-";
  if (cell.is_string()) return cell.get<std::string>();
  if (cell.is_number_integer()) return with_thousands(cell.get<std::int64_t>());
  if (cell.is_number()) return fmt::format("{:.4g}", cell.get<double>());
  return cell.dump();
}

std::string csv_cell(const Json& cell) {
  if (cell.is_null()) return "";
  const std::string text = cell.is_string() ? cell.get<std::string>() : cell.dump();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string render_text(const Table& table) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::size_t width = table.columns[c].size();
    for (const auto& row : table.rows) width = std::max(width, pretty(row[c]).size());
    widths.push_back(width);
  }
  std::string out = table.title.empty() ? "" : table.title + "\n";
  const auto line = [&](const auto& cell_of) {
    std::string text;
    for (std::size_t c = 0; c < widths.size(); ++c) text += (c ? "  " : "") + cell_of(c);
    out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  };
  line([&](std::size_t c) { return fmt::format("{:{}}", table.columns[c], widths[c]); });
  line([&](std::size_t c) { return std::string(widths[c], '-'); });
  for (const auto& row : table.rows)
    line([&](std::size_t c) {
      return row[c].is_number() ? fmt::format("{:>{}}", pretty(row[c]), widths[c])
                                : fmt::format("{:{}}", pretty(row[c]), widths[c]);
    });
  return out;
}

std::string render_markdown(const Table& table) {
  std::string out = table.title.empty() ? "" : "### " + table.title + "\n\n";
  out += "| " + join(table.columns, " | ") + " |\n|";
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    out += !table.rows.empty() && table.rows[0][c].is_number() ? " --: |" : " --- |";
  out += "\n";
  for (const auto& row : table.rows) {
    out += "|";
    for (const Json& cell : row) {
      std::string text = pretty(cell);
      for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
      out += " " + text + " |";
    }
    out += "\n";
  }
  return out;
}

}  // namespace

std::string csv_line(const std::vector<Json>& cells) {
  std::string line;
  for (std::size_t c = 0; c < cells.size(); ++c) line += (c ? "," : "") + csv_cell(cells[c]);
  return line + "\n";
}

std::string render(const Table& table, OutputFormat format) {
  if (format == OutputFormat::text) return render_text(table);
  if (format == OutputFormat::md) return render_markdown(table);
  if (format == OutputFormat::csv) {
    std::string out = join(table.columns, ",") + "\n";
    for (const auto& row : table.rows) out += csv_line(row);
    return out;
  }
  Json list = Json::array();
  for (const auto& row : table.rows) {
    Json object;
    for (std::size_t c = 0; c < row.size(); ++c) object[table.columns[c]] = row[c];
    list.push_back(std::move(object));
  }
  return list.dump(2) + "\n";
}

}  // namespace tilescope::cli
