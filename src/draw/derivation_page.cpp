#include "draw/derivation_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/text.h"
#include "draw/canvas.h"
#include "draw/formula.h"
#include "draw/page_style.h"

namespace tilescope {
namespace {

using draw::xml_text;

// A listing with its line breaks. Lines "H*(M) = FORMULA" stand as mathematics between its parts.
std::string listing_html(const std::string& text) {
  static const std::string law = "H*(M) = ";
  std::string html, part;
  const auto close = [&] {
    if (part.find_first_not_of('\n') != std::string::npos)
      html += "<pre tabindex=\"0\">\n" + part + "</pre>\n";  // a first line break is not part of the text
    part.clear();
  };
  for (const std::string& line : split(text, '\n')) {
    const std::size_t at = line.find_first_not_of(' ');
    if (at != std::string::npos && line.compare(at, law.size(), law) == 0) {
      close();
      html += draw::math_ml(line.substr(at));
    } else {
      part += (part.empty() ? "" : "\n") + xml_text(line);
    }
  }
  close();
  return html;
}

bool is_number(const std::string& cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789.,+-eE% ") == std::string::npos;
}

// `name`: of a table without a title, for readers who cannot see where it stands.
std::string table_html(const PageTable& table, const std::string& name) {
  std::vector<bool> numbers(table.columns.size(), !table.rows.empty());
  for (const auto& row : table.rows) {
    if (row.size() > table.columns.size())
      throw std::invalid_argument(fmt::format("table '{}' has {} columns, found a row of {} cells", table.title,
                                              table.columns.size(), row.size()));
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = numbers[i] && i > 0 && i < row.size() && is_number(row[i]);
  }
  std::string html = table.title.empty() ? "" : fmt::format("<h3>{}</h3>\n", xml_text(table.title));
  html += fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table><thead><tr>",
                      xml_text(table.title.empty() ? name : table.title + " of " + name));
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    html += fmt::format("<th scope=\"col\"{}>{}</th>", numbers[i] ? " class=\"n\"" : "", xml_text(table.columns[i]));
  html += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const std::string cell = i < row.size() ? xml_text(row[i]) : "";
      html += i == 0 ? "<th scope=\"row\">" + cell + "</th>"
                     : fmt::format("<td{}>{}</td>", numbers[i] ? " class=\"n\"" : "", cell);
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string section_html(const PageSection& section, std::size_t number) {
  std::string html = fmt::format("<section aria-labelledby=\"section-{0}\">\n<h2 id=\"section-{0}\">{1}</h2>\n", number,
                                 xml_text(section.heading));
  for (const std::string& paragraph : section.paragraphs) html += "<p>" + xml_text(paragraph) + "</p>\n";
  for (const std::string& listing : section.listings) html += listing_html(listing);
  for (std::size_t i = 0; i < section.tables.size(); ++i)
    html += table_html(section.tables[i], section.heading + (i == 0 ? ", table" : fmt::format(", table {}", i + 1)));
  return html + "</section>\n";
}

std::string pictures_html(const std::vector<PagePicture>& pictures) {
  if (pictures.empty()) return "";
  std::string html = "<section class=\"pictures\" aria-label=\"Pictures\">\n";
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const PagePicture& picture = pictures[i];
    html +=
        fmt::format("<figure><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Picture {}\">\n{}</div>",
                    i + 1, picture.svg);
    if (!picture.caption.empty()) html += "<figcaption>" + xml_text(picture.caption) + "</figcaption>";
    html += "</figure>\n";
  }
  return html + "</section>\n";
}

}  // namespace

std::string derivation_page(const DerivationPage& page) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src "
      "data:\">\n";
  html += "<title>" + xml_text(page.title) + "</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>" +
          draw::page_style + "</style>\n</head>\n<body>\n";
  html += "<header class=\"page\">\n<h1>" + xml_text(page.title) + "</h1>\n";
  if (!page.summary.empty()) html += "<p class=\"lead\">" + xml_text(page.summary) + "</p>\n";
  html += "</header>\n<main>\n" + pictures_html(page.pictures);
  for (std::size_t i = 0; i < page.sections.size(); ++i) html += section_html(page.sections[i], i + 1);
  return html +
         "</main>\n<footer class=\"page\"><p>Made by tilescope. One file, nothing loaded from a "
         "network.</p></footer>\n</body>\n</html>\n";
}

}  // namespace tilescope
