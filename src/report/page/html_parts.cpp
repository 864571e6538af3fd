#include "report/page/html_parts.h"

#include <fmt/format.h>

#include "report/charts/levels.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

const char* drawing(MarkShape shape) {
  switch (shape) {
    case MarkShape::circle:
      return R"(<circle cx="8" cy="8" r="5"/>)";
    case MarkShape::square:
      return R"(<rect x="3.5" y="3.5" width="9" height="9"/>)";
    case MarkShape::triangle:
      return R"(<path d="M8 2.5 14 13H2z"/>)";
    case MarkShape::triangle_down:
      return R"(<path d="M8 13.5 14 3H2z"/>)";
    case MarkShape::triangle_right:
      return R"(<path d="M3 2.5 13.5 8 3 13.5z"/>)";
    case MarkShape::stroke:
      return R"(<path d="M2.5 8h11" stroke-width="3"/>)";
    case MarkShape::diamond:
      return R"(<path d="M8 2 13 8 8 14 3 8z"/>)";
    case MarkShape::cross:
      return R"(<path d="M6 2h4v4h4v4h-4v4H6v-4H2V6h4z"/>)";
    case MarkShape::bar:
      return R"(<rect x="1" y="3" width="14" height="10"/>)";
  }
  return "";
}

}  // namespace

std::string control_html(const std::string& name, const std::string& signal, const std::string& charts,
                         const std::vector<Choice>& choices) {
  std::string options;
  for (const Choice& choice : choices)
    options += fmt::format(R"(<option value="{}"{}>{}</option>)", escape_html(choice.value),
                           choice.selected ? " selected" : "", escape_html(choice.text));
  return fmt::format(
      R"(<label class="control"><span>{}</span><select data-signal="{}" data-charts="{}">{}</select></label>)"
      "\n",
      escape_html(name), escape_html(signal), escape_html(charts), options);
}

std::string figure_html(const std::string& id, const std::string& caption) {
  const std::string below = caption.empty() ? "" : "<figcaption>" + escape_html(caption) + "</figcaption>";
  return fmt::format("<figure><div class=\"chart\" id=\"{}\"></div>{}</figure>\n", escape_html(id), below);
}

std::string table_html(const std::string& name, const std::vector<TableColumn>& columns,
                       const std::vector<std::vector<std::string>>& html_cells) {
  std::string html = fmt::format(R"(<div class="scroll" tabindex="0" role="region" aria-label="{}"><table><thead><tr>)",
                                 escape_html(name));
  for (const TableColumn& column : columns)
    html +=
        fmt::format(R"(<th scope="col"{}>{}</th>)", column.number ? R"( class="n")" : "", escape_html(column.title));
  html += "</tr></thead><tbody>\n";
  for (const std::vector<std::string>& row : html_cells) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == 0) html += "<th scope=\"row\">" + row[i] + "</th>";
      else html += (columns.at(i).number ? "<td class=\"n\">" : "<td>") + row[i] + "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string key_html(MarkShape shape, const std::string& meaning, const std::string& colour, const char* css_class) {
  return fmt::format(R"(<li class="{}" style="--c: {}"><svg viewBox="0 0 16 16" aria-hidden="true">{}</svg>{}</li>)",
                     css_class, escape_html(colour), drawing(shape), escape_html(meaning));
}

std::string level_key_html(const std::string& level, const std::string& meaning) {
  constexpr std::pair<const char*, MarkShape> kShapes[] = {
      {"circle", MarkShape::circle},        {"square", MarkShape::square},
      {"triangle-up", MarkShape::triangle}, {"triangle-down", MarkShape::triangle_down},
      {"diamond", MarkShape::diamond},      {"cross", MarkShape::cross}};
  for (const auto& [name, shape] : kShapes)
    if (std::string_view(level_shape(level)) == name) return key_html(shape, meaning, level_colour(level));
  return key_html(MarkShape::circle, meaning, level_colour(level));
}

std::string legend_html(const std::vector<std::string>& html_keys) {
  std::string html = "<ul class=\"legend\">";
  for (const std::string& key : html_keys) html += key;
  return html + "</ul>\n";
}

std::string empty_html(std::string_view sentence) { return "<p class=\"empty\">" + escape_html(sentence) + "</p>\n"; }

}  // namespace tilescope::report
