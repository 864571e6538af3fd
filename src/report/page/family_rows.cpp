// The table of the family: a row a kernel, a column a quantity, in each cell predicted, counted and their error.
#include <fmt/format.h>

#include "base/text.h"
#include "report/model.h"
#include "report/page/family_parts.h"
#include "report/page/html_parts.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

std::string spread_html(const FamilyNumber& number) {
  std::vector<std::string> parts;
  const auto tell = [&](const ErrorSpread& spread, const char* what) {
    parts.push_back(
        fmt::format("worst {} of {}{}", percent_html(spread.worst), data_html(spread.n, plain_number(spread.n)), what));
  };
  if (number.judged) tell(*number.judged, "");
  if (number.not_judged) tell(*number.not_judged, " not judged");
  if (const auto& all = number.judged ? number.judged : number.not_judged)
    parts.push_back("median " + percent_html(all->median));
  std::string html;
  for (const std::string& part : parts) html += "<span class=\"spread\">" + part + "</span>";
  if (number.outside > 0)
    html += fmt::format("<span class=\"spread bad\">{} outside tolerance</span>",
                        data_html(number.outside, plain_number(number.outside)));
  return html;
}

std::string cell_html(const FamilyNumber& number) {
  std::string html = fmt::format("<td data-label=\"{}\" data-quantity=\"{}\">", escape_html(number.title),
                                 escape_html(number.quantity));
  if (number.predicted) html += "<span class=\"p\">" + amount_html(number.quantity, number.predicted) + "</span>";
  if (number.measured) html += "<span class=\"m\">" + amount_html(number.quantity, number.measured) + "</span>";
  if (number.ratio) html += "<span class=\"e\">" + data_html(number.ratio, error_text(number.ratio)) + "</span>";
  if (!number.absent.empty()) html += "<span class=\"why\">" + escape_html(number.absent) + "</span>";
  return html + spread_html(number) + "</td>";
}

std::string launches_html(const FamilyRow& row) {
  std::string html = "<td data-label=\"launches\">";
  if (row.launches_predicted)
    html += "<span class=\"p\">" + data_html(row.launches_predicted, plain_number(row.launches_predicted)) + "</span>";
  if (row.launches_measured)
    html += "<span class=\"m\">" + data_html(row.launches_measured, plain_number(row.launches_measured)) + "</span>";
  return html + "<span class=\"spread\">" + escape_html(join(row.launch_names, ", ")) + "</span></td>";
}

std::string row_html(const FamilyRow& row) {
  std::string html = fmt::format("<tr data-kernel=\"{}\"><th scope=\"row\"><strong>{}</strong> {}",
                                 escape_html(row.kernel), escape_html(row.kernel), third_party_html(row.third_party));
  html += "<span class=\"what\">" + escape_html(row.summary) + "</span>";
  html +=
      fmt::format("<span class=\"spread\">{} pass, schedule {}; {} record{}; shown: {}, {}</span></th>",
                  escape_html(row.pass), escape_html(row.schedule), data_html(row.records, plain_number(row.records)),
                  row.records == 1 ? "" : "s", escape_html(row.implementation), escape_html(row.workload));
  for (const FamilyNumber& number : row.numbers) html += cell_html(number);
  return html + launches_html(row) + "</tr>\n";
}

}  // namespace

std::string family_rows_html(const FamilyPage& family) {
  if (family.rows.empty()) return empty_html("No kernel was measured.");
  std::string html =
      "<p class=\"quiet\">A cell is the error of one record: predicted / counted − 1.</p>\n"
      "<label class=\"more\"><input type=\"checkbox\" id=\"family-more\"> show what was predicted and counted, and the "
      "errors of all records</label>\n" +
      legend_html(
          {key_html(MarkShape::circle, "predicted", "var(--ink)", "hollow"), key_html(MarkShape::circle, "counted")});
  html += "<table class=\"family\"><thead><tr><th scope=\"col\">Kernel</th>";
  for (const FamilyNumber& number : family.rows.front().numbers)
    html += "<th scope=\"col\">" + escape_html(number.title) + "</th>";
  html += "<th scope=\"col\">launches</th></tr></thead><tbody>\n";
  for (const FamilyRow& row : family.rows) html += row_html(row);
  return html + "</tbody></table>\n";
}

}  // namespace tilescope::report
