#include "cli/output/table.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "base/escape.h"
#include "base/text.h"

namespace tilescope::cli {
namespace {

// As JSON writes it; numbers without a serializer of their own, for sweeps write millions of them.
void add_csv_cell(const Json& cell, std::string& text) {
  std::array<char, 64> number;
  const auto take = [&](const char* end) { text.append(number.data(), static_cast<std::size_t>(end - number.data())); };
  switch (cell.type()) {
    case Json::value_t::null:
      return;
    case Json::value_t::string:
      text += csv_escaped(cell.get_ref<const std::string&>());
      return;
    case Json::value_t::number_integer:
      return take(std::to_chars(number.begin(), number.end(), cell.get<std::int64_t>()).ptr);
    case Json::value_t::number_unsigned:
      return take(std::to_chars(number.begin(), number.end(), cell.get<std::uint64_t>()).ptr);
    case Json::value_t::number_float:
      if (const double value = cell.get<double>(); std::isfinite(value))
        return take(nlohmann::detail::to_chars(number.begin(), number.end(), value));
      [[fallthrough]];
    default:
      text += cell.dump();
  }
}

// Text of a cell that stays within it and is neither HTML nor a link.
std::string markdown_cell(const Json& cell) {
  std::string text;
  for (const char c : one_line(shown_cell(cell))) {
    if (c == '<') text += "&lt;";
    else if (c == '|' || (c == '(' && text.ends_with(']'))) text += std::string("\\") + c;
    else text += c;
  }
  return text;
}

std::string render_markdown(const Table& table) {
  std::string out = table.title.empty() ? "" : "### " + table.title + "\n\n";
  out += "| " + join(table.columns, " | ") + " |\n|";
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    out += !table.rows.empty() && table.rows[0][c].is_number() ? " --: |" : " --- |";
  out += "\n";
  for (const auto& row : table.rows) {
    out += "|";
    for (const Json& cell : row) out += " " + markdown_cell(cell) + " |";
    out += "\n";
  }
  return out;
}

}  // namespace

void add_csv_line(const std::vector<Json>& cells, std::string& text) {
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (c > 0) text += ',';
    add_csv_cell(cells[c], text);
  }
  text += '\n';
}

std::string csv_line(const std::vector<Json>& cells) {
  std::string line;
  add_csv_line(cells, line);
  return line;
}

std::string shown_cell(const Json& cell) {
  if (cell.is_null()) return "-";
  if (cell.is_string()) return cell.get<std::string>();
  if (cell.is_number_integer()) return with_thousands(cell.get<std::int64_t>());
  if (cell.is_number()) return fmt::format("{:.4g}", cell.get<double>());
  return cell.dump();
}

std::string render(const Table& table, const Style& style) {
  if (style.format == OutputFormat::text) return render_text(table, style);
  if (style.format == OutputFormat::md) return render_markdown(table);
  if (style.format == OutputFormat::csv) {
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
