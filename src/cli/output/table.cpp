#include "cli/output/table.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "base/escape.h"
#include "base/text.h"

namespace tilescope::cli {
namespace {

// Text that grows in a piece of memory of fixed size, from which it goes on to a string.
class FixedText {
 public:
  explicit FixedText(std::string& text) : text_(text) {}
  ~FixedText() { flush(); }
  FixedText(const FixedText&) = delete;
  FixedText& operator=(const FixedText&) = delete;

  char* next() {  // where a number may be written, and then taken
    if (last() - end_ < most_characters) flush();
    return end_;
  }
  char* last() { return memory_.data() + memory_.size(); }
  void take(char* end) { end_ = end; }
  void add(char c) { *next() = c, ++end_; }
  void add(const std::string& more) { flush(), text_ += more; }

 private:
  static constexpr std::ptrdiff_t most_characters = 64;  // of a number
  void flush() {
    text_.append(memory_.data(), static_cast<std::size_t>(end_ - memory_.data()));
    end_ = memory_.data();
  }
  std::string& text_;
  std::array<char, 512> memory_;
  char* end_ = memory_.data();
};

// As JSON writes it; numbers without a serializer of their own, for sweeps write millions of them.
void add_csv_cell(const Json& cell, FixedText& text) {
  if (const auto* value = cell.get_ptr<const Json::number_integer_t*>()) {
    if (const auto* positive = cell.get_ptr<const Json::number_unsigned_t*>())
      return text.take(std::to_chars(text.next(), text.last(), *positive).ptr);
    return text.take(std::to_chars(text.next(), text.last(), *value).ptr);
  }
  if (const auto* value = cell.get_ptr<const Json::number_float_t*>(); value && std::isfinite(*value))
    return text.take(nlohmann::detail::to_chars(text.next(), text.last(), *value));
  if (cell.is_string()) return text.add(csv_escaped(cell.get_ref<const std::string&>()));
  if (!cell.is_null()) text.add(cell.dump());
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
  FixedText line(text);
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (c > 0) line.add(',');
    add_csv_cell(cells[c], line);
  }
  line.add('\n');
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
