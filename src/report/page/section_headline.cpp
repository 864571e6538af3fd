// The first section: what was checked, what holds, and the rows that do not.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/page/html_parts.h"
#include "report/page/sections.h"
#include "report/text/headline.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

std::string fact(const std::string& html_number, const std::string& words, const char* css_class = "") {
  return fmt::format("<div class=\"fact {}\"><dt>{}</dt><dd>{}</dd></div>\n", css_class, words, html_number);
}

std::string facts_html(const Headline& headline) {
  std::string html = "<dl class=\"facts\">\n" + fact(with_thousands(headline.points), "points");
  if (headline.checked > 0) {
    html +=
        fact(fmt::format("{} <small>of {}</small>", with_thousands(headline.passed), with_thousands(headline.checked)),
             "numbers within tolerance", "good");
    html += fact(with_thousands(headline.failed), "outside tolerance", headline.failed > 0 ? "bad" : "");
  }
  if (headline.informative > 0) html += fact(with_thousands(headline.informative), "reported without a tolerance");
  return html + "</dl>\n";
}

std::string worst_html(const Report& report, const ReportRow& row) {
  const auto whole = [](const std::string& text) { return "<span class=\"whole\">" + text + "</span>"; };
  return fmt::format(
      "<p class=\"worst\"><strong>Worst checked number:</strong> {} of <em>{}</em>, predicted {}, measured {}, error "
      "{} "
      "(tolerance {}).</p>\n",
      escape_html(quantity_name(row.quantity, row.level)), escape_html(label_of(report, row.point)),
      whole(quantity_text(row.quantity, row.predicted)), whole(quantity_text(row.quantity, row.measured)),
      whole(error_text(row.ratio)), whole(allowed_text(row.tolerance, row.slack, row.quantity)));
}

std::string refused_html(const Report& report) {
  if (report.refused.empty()) return {};
  std::string html =
      fmt::format("<details class=\"refused\"><summary>{} of the points asked for {} no time</summary><ul>\n",
                  report.refused.size(), report.refused.size() == 1 ? "has" : "have");
  for (const RefusedPoint& point : report.refused)
    html += "<li><strong>" + escape_html(point.label) + "</strong>: " + escape_html(point.reason) + "</li>\n";
  return html + "</ul></details>\n";
}

std::string failures_html(const Report& report, const Headline& headline) {
  constexpr std::size_t kShown = 12;
  std::vector<std::vector<std::string>> cells;
  for (std::size_t i = 0; i < std::min(kShown, headline.failures.size()); ++i) {
    const ReportRow& row = headline.failures[i];
    cells.push_back({escape_html(label_of(report, row.point)), escape_html(quantity_name(row.quantity, row.level)),
                     quantity_text(row.quantity, row.predicted), quantity_text(row.quantity, row.measured),
                     "<strong class=\"bad\">" + error_text(row.ratio) + "</strong>",
                     allowed_text(row.tolerance, row.slack, row.quantity)});
  }
  std::string html =
      "<h3>Outside tolerance</h3>\n" +
      table_html(
          "Rows outside tolerance",
          {{"Point"}, {"Quantity"}, {"Predicted", true}, {"Measured", true}, {"Error", true}, {"Tolerance", true}},
          cells);
  if (headline.failures.size() > kShown)
    html += fmt::format("<p class=\"quiet\">The {} largest of {}; the others are in the table of all numbers.</p>\n",
                        kShown, headline.failures.size());
  return html;
}

}  // namespace

std::string meta_html(const Report& report) {
  std::vector<std::string> parts{escape_html(join(gpu_names(report), ", "))};
  if (!report.generated.empty()) parts.push_back(escape_html(report.generated));
  if (!report.revision.empty()) parts.push_back("revision <code>" + escape_html(report.revision) + "</code>");
  return join(parts, " <span aria-hidden=\"true\">·</span> ");
}

std::string answer_html(const Report& report) {
  std::string html = "<p class=\"lead\">" + escape_html(answer_sentence(report)) + "</p>\n";
  const Headline headline = headline_of(report);
  if (headline.checked > 0) html += facts_html(headline);
  return html + refused_html(report) + roofline_html(report);
}

std::string checked_html(const Report& report) {
  const Headline headline = headline_of(report);
  if (headline.checked == 0) return {};
  std::string html = "<p>" + escape_html(headline_sentence(report, headline)) + "</p>\n";
  if (headline.worst) html += worst_html(report, *headline.worst);
  if (headline.failed > 0) html += failures_html(report, headline);
  return html;
}

std::string summary_html(const Report& report) {
  if (report.summary.empty()) return {};
  std::vector<std::vector<std::string>> cells;
  std::string above;
  for (const Summary& s : report.summary) {
    const std::string failed =
        s.failed.value_or(0) > 0 ? "<strong class=\"bad\">" + plain_number(s.failed) + "</strong>" : "0";
    cells.push_back(
        {s.kernel == above ? "<span class=\"again\">" + escape_html(s.kernel) + "</span>" : escape_html(s.kernel),
         escape_html(quantity_name(s.quantity, s.level)), plain_number(s.n), s.failed ? failed : "–",
         percent_text(s.mean), percent_text(s.median), percent_text(s.p90), percent_text(s.worst)});
    above = s.kernel;
  }
  return "<h3>Absolute relative error by kernel and quantity</h3>\n" + table_html("Error summary",
                                                                                  {{"Kernel"},
                                                                                   {"Quantity"},
                                                                                   {"Points", true},
                                                                                   {"Outside", true},
                                                                                   {"Mean", true},
                                                                                   {"Median", true},
                                                                                   {"90th percentile", true},
                                                                                   {"Worst", true}},
                                                                                  cells);
}

}  // namespace tilescope::report
