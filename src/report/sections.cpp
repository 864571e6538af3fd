#include "report/sections.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/chart.h"
#include "report/headline.h"
#include "report/text_format.h"

namespace tilescope::report {
namespace {

std::string e(std::string_view text) { return escape_html(text); }

struct Choice {
  std::string value{}, text{};
  bool selected = false;
};

// A labelled list whose choice page.js hands to the param `signal` of every chart whose id starts with `charts`.
std::string control(const std::string& name, const std::string& signal, const std::string& charts,
                    const std::vector<Choice>& choices) {
  std::string options;
  for (const Choice& choice : choices)
    options += fmt::format("<option value=\"{}\"{}>{}</option>", e(choice.value), choice.selected ? " selected" : "",
                           e(choice.text));
  return fmt::format(
      "<label class=\"control\"><span>{}</span><select data-signal=\"{}\" data-charts=\"{}\">{}</select></label>\n",
      e(name), e(signal), e(charts), options);
}

std::string figure(const std::string& id, const std::string& caption) {
  return fmt::format("<figure><div class=\"chart\" id=\"{}\"></div>{}</figure>\n", e(id),
                     caption.empty() ? "" : "<figcaption>" + caption + "</figcaption>");
}

std::string nothing(const char* what) { return fmt::format("<p class=\"empty\">{}</p>\n", what); }

std::vector<Choice> kernel_choices(const Report& report) {
  std::vector<Choice> choices{{kEverything, "all kernels"}};
  for (const std::string& kernel : headline_of(report).kernels) choices.push_back({kernel, kernel});
  return choices;
}

std::string failures_html(const Report& report, const Headline& headline) {
  constexpr std::size_t kShown = 12;
  std::string body;
  for (std::size_t i = 0; i < std::min(kShown, headline.failures.size()); ++i) {
    const Row& row = headline.failures[i];
    body += fmt::format(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n "
        "bad\">{}</td><td class=\"n\">± {}</td></tr>\n",
        e(label_of(report, row.point)), e(quantity_name(row.quantity, row.level)),
        quantity_text(row.quantity, row.predicted), quantity_text(row.quantity, row.measured), error_text(row.ratio),
        percent_text(row.tolerance));
  }
  const std::string rest =
      headline.failures.size() > kShown
          ? fmt::format("<p class=\"quiet\">The {} largest of {}; the others are in the table of all numbers.</p>\n",
                        kShown, headline.failures.size())
          : "";
  return "<h3>Outside tolerance</h3>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Rows outside "
         "tolerance\"><table><thead><tr><th "
         "scope=\"col\">Point</th><th scope=\"col\">Quantity</th><th scope=\"col\" class=\"n\">Predicted</th><th "
         "scope=\"col\" class=\"n\">Measured</th><th "
         "scope=\"col\" class=\"n\">Error</th><th scope=\"col\" class=\"n\">Tolerance</th></tr></thead><tbody>\n" +
         body + "</tbody></table></div>\n" + rest;
}

std::string tile(const std::string& number, const std::string& words, const char* kind = "") {
  return fmt::format("<div class=\"fact {}\"><dt>{}</dt><dd>{}</dd></div>\n", kind, words, number);
}

}  // namespace

std::string meta_html(const Report& report) {
  std::vector<std::string> parts{e(report.hardware.name)};
  if (!report.generated.empty()) parts.push_back(e(report.generated));
  if (!report.revision.empty()) parts.push_back("revision <code>" + e(report.revision) + "</code>");
  return join(parts, " <span aria-hidden=\"true\">·</span> ");
}

std::string headline_html(const Report& report) {
  const Headline headline = headline_of(report);
  std::string html = "<p class=\"lead\">" + e(headline_sentence(report, headline)) + "</p>\n<dl class=\"facts\">\n";
  html += tile(with_thousands(headline.points), "points");
  if (headline.checked > 0) {
    html +=
        tile(fmt::format("{} <small>of {}</small>", with_thousands(headline.passed), with_thousands(headline.checked)),
             "numbers within tolerance", "good");
    html += tile(with_thousands(headline.failed), "outside tolerance", headline.failed > 0 ? "bad" : "");
  }
  if (headline.informative > 0) html += tile(with_thousands(headline.informative), "reported without a tolerance");
  html += "</dl>\n";
  if (headline.checked == 0)
    html += nothing("Nothing was compared: there is no measurement, or no comparison was asked for.");
  if (headline.worst)
    html += fmt::format(
        "<p class=\"worst\"><strong>Worst checked number:</strong> {} of <em>{}</em>, predicted {}, measured {}, error "
        "{} (tolerance ± {}).</p>\n",
        e(quantity_name(headline.worst->quantity, headline.worst->level)), e(label_of(report, headline.worst->point)),
        quantity_text(headline.worst->quantity, headline.worst->predicted),
        quantity_text(headline.worst->quantity, headline.worst->measured), error_text(headline.worst->ratio),
        percent_text(headline.worst->tolerance));
  if (headline.failed > 0) html += failures_html(report, headline);
  return html;
}

std::string summary_html(const Report& report) {
  if (report.summary.empty()) return {};
  std::string body;
  for (const Summary& s : report.summary)
    body += fmt::format(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        e(s.kernel), e(quantity_name(s.quantity, s.level)), plain_number(s.n), percent_text(s.mean),
        percent_text(s.median), percent_text(s.p90), percent_text(s.worst));
  return "<h3>Absolute relative error by kernel and quantity</h3>\n<div class=\"scroll\" tabindex=\"0\" "
         "role=\"region\" aria-label=\"Error summary\"><table><thead><tr><th "
         "scope=\"col\">Kernel</th><th scope=\"col\">Quantity</th><th scope=\"col\" class=\"n\">Points</th><th "
         "scope=\"col\" class=\"n\">Mean</th><th scope=\"col\" "
         "class=\"n\">Median</th><th scope=\"col\" class=\"n\">90th percentile</th><th scope=\"col\" "
         "class=\"n\">Worst</th></tr></thead><tbody>\n" +
         body + "</tbody></table></div>\n";
}

std::string roofline_html(const Report& report) {
  if (roofline_chart(report).is_null())
    return nothing("A roofline needs roofs, and points with traffic, work and time; this report has none.");
  std::vector<Choice> dtypes, levels{{kEverything, "all levels"}};
  for (const std::string& dtype : roofline_dtypes(report)) dtypes.push_back({dtype, dtype});
  std::string legend;
  const char* shapes[] = {"<circle cx=\"8\" cy=\"8\" r=\"5\"/>", "<rect x=\"3.5\" y=\"3.5\" width=\"9\" height=\"9\"/>",
                          "<path d=\"M8 2.5 14 13H2z\"/>", "<path d=\"M8 2 13 8 8 14 3 8z\"/>"};
  for (std::size_t i = 0; i < report.hardware.roofs.size(); ++i) {
    const std::string& level = report.hardware.roofs[i].level;
    levels.push_back({level, level_name(level)});
    const std::string name = level_name(level) == level_short(level)
                                 ? level_name(level)
                                 : level_name(level) + " (" + level_short(level) + ")";
    legend += fmt::format(
        "<li style=\"--c: var(--{}, var(--ink))\"><svg viewBox=\"0 0 16 16\" aria-hidden=\"true\">{}</svg>{}</li>",
        e(level), shapes[i % 4], e(name));
  }
  return "<div class=\"controls\">\n" + control("Data type", "dtype", "roofline", dtypes) +
         control("Level", "level", "roofline", levels) +
         control("Kernel", "kernel", "roofline", kernel_choices(report)) + "</div>\n<ul class=\"legend\">" + legend +
         "<li class=\"hollow\"><svg viewBox=\"0 0 16 16\" aria-hidden=\"true\"><circle cx=\"8\" cy=\"8\" "
         "r=\"5\"/></svg>predicted</li><li><svg viewBox=\"0 0 16 16\" "
         "aria-hidden=\"true\"><circle cx=\"8\" cy=\"8\" r=\"5\"/></svg>measured</li></ul>\n" +
         figure("roofline",
                "Every point appears once a level, at the same height: its FLOP over the bytes which that level moved. "
                "A point on a "
                "sloped roof is bound by that memory, one under the flat roof by arithmetic. Point at a mark to follow "
                "it through the levels.");
}

std::string traffic_html(const Report& report) {
  const std::vector<std::string> levels = traffic_levels(report);
  if (levels.empty()) return nothing("No point carries traffic.");
  std::vector<Choice> points;
  for (const Point& point : report.points)
    points.push_back({point.id, point.label, report.derivation && report.derivation->point == point.id});
  std::string html = "<div class=\"controls\">\n" + control("Point", "point", "traffic-", points) +
                     "</div>\n<p class=\"point-facts\" id=\"point-facts\" aria-live=\"polite\"></p>\n<ul "
                     "class=\"legend\"><li style=\"--c: "
                     "var(--ink-2)\"><svg viewBox=\"0 0 16 16\" aria-hidden=\"true\"><rect x=\"2\" y=\"3\" "
                     "width=\"12\" height=\"10\"/></svg>read</li><li class=\"hollow\"><svg "
                     "viewBox=\"0 0 16 16\" aria-hidden=\"true\"><rect x=\"2\" y=\"3\" width=\"12\" "
                     "height=\"10\"/></svg>write</li></ul>\n<div class=\"levels\">\n";
  for (const std::string& level : levels) {
    if (traffic_chart(report, level).is_null()) continue;
    html += fmt::format("<section class=\"level\"><h3>{}</h3>{}</section>\n", e(level_name(level)),
                        figure("traffic-" + level, ""));
  }
  return html + "</div>\n";
}

std::string errors_html(const Report& report) {
  if (error_chart(report).is_null()) return nothing("Nothing was compared.");
  return "<div class=\"controls\">\n" + control("Kernel", "kernel", "errors", kernel_choices(report)) +
         "</div>\n<ul class=\"legend\"><li style=\"--c: var(--pass)\"><svg viewBox=\"0 0 16 16\" "
         "aria-hidden=\"true\"><circle cx=\"8\" cy=\"8\" r=\"4\"/></svg>within tolerance</li><li "
         "style=\"--c: var(--fail)\"><svg viewBox=\"0 0 16 16\" aria-hidden=\"true\"><path d=\"M6 "
         "2h4v4h4v4h-4v4H6v-4H2V6h4z\"/></svg>outside</li><li class=\"hollow\" style=\"--c: "
         "var(--info)\"><svg viewBox=\"0 0 16 16\" aria-hidden=\"true\"><path d=\"M8 2 13 8 8 14 3 8z\"/></svg>no "
         "tolerance</li><li class=\"band\"><svg viewBox=\"0 0 16 16\" "
         "aria-hidden=\"true\"><rect x=\"1\" y=\"3\" width=\"14\" height=\"10\"/></svg>tolerance</li></ul>\n" +
         figure("errors",
                "Linear near zero, logarithmic further out. Marks are spread over the height of their strip only so "
                "that equal errors do not hide each other.");
}

std::string tiles_html(const Report& report) {
  if (tile_chart(report).is_null()) return nothing("This report has no tile map.");
  const TileMap& map = *report.tile_map;
  return fmt::format("<p>{}</p>\n<div class=\"controls\">\n",
                     e(map.title.empty() ? map.kernel + " on " + map.hardware : map.title)) +
         control("Show", "metric", "tiles", {{"seconds", "predicted time"}, {"bytes", "bytes read from L2"}}) +
         "</div>\n" +
         figure("tiles",
                "A stronger tint is more, the smallest is outlined. A cross marks a tile that does not fit; point at "
                "it to see which memory is too small and by how much.");
}

std::string derivation_html(const Report& report) {
  if (!report.derivation) return nothing("This report has no derivation.");
  const Derivation& d = *report.derivation;
  std::string html = d.title.empty() ? "" : "<h3>" + e(d.title) + "</h3>\n";
  html += "<div class=\"derivation\"><div class=\"prose\">\n";
  for (const std::string& paragraph : d.paragraphs) html += "<p>" + e(paragraph) + "</p>\n";
  html += "</div>\n";
  if (!d.pseudocode.empty())
    html += "<pre tabindex=\"0\" aria-label=\"Pseudocode\"><code>" + e(d.pseudocode) + "</code></pre>\n";
  html += "</div>\n";
  if (d.terms.empty()) return html;
  html +=
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Terms\"><table class=\"terms\"><thead><tr><th "
      "scope=\"col\">Boundary</th><th scope=\"col\">Array</th><th "
      "scope=\"col\">Direction</th><th scope=\"col\" class=\"n\">Bytes</th><th scope=\"col\">Formula and "
      "cause</th></tr></thead><tbody>\n";
  for (const Term& term : d.terms) {
    html += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td class=\"n\">{}</td><td><code>{}</code>",
                        e(level_name(term.boundary)), e(term.array), e(term.direction),
                        quantity_text("bytes", term.bytes), e(term.formula));
    for (const std::string& cause : term.because) html += "<br><span class=\"quiet\">" + e(cause) + "</span>";
    html += "</td></tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string notes_html(const Report& report) {
  std::string html;
  for (const std::string& note : report.notes) html += "<li>" + e(note) + "</li>\n";
  return html.empty() ? html : "<ul>\n" + html + "</ul>\n";
}

}  // namespace tilescope::report
