#include "report/page/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/contains.h"
#include "base/text.h"
#include "report/charts/chart.h"
#include "report/page/html_parts.h"
#include "report/text/headline.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

std::vector<Choice> kernel_choices(const Report& report) {
  std::vector<Choice> choices{{kEverything, "all kernels"}};
  for (const std::string& kernel : headline_of(report).kernels) choices.push_back({kernel, kernel});
  return choices;
}

std::string controls_html(const std::string& html) { return "<div class=\"controls\">\n" + html + "</div>\n"; }

std::string colour_of(const std::string& level) { return "var(--" + level + ", var(--ink))"; }

// Every tolerance in use with the experiment's reason for it, and the quantities that it holds for.
std::string tolerances_html(const Report& report) {
  struct Use {
    std::vector<std::string> names{};
    int rows = 0;
  };
  std::map<std::pair<std::string, std::string>, Use> uses;
  std::vector<std::pair<std::string, std::string>> order;
  for (const ReportRow& row : report.rows) {
    if (!row.verdict) continue;
    const auto [entry, added] = uses.try_emplace({tolerance_text(row.tolerance), row.reason});
    if (added) order.push_back(entry->first);
    Use& use = entry->second;
    const std::string name = quantity_name(row.quantity, row.level);
    if (!contains(use.names, name)) use.names.push_back(name);
    ++use.rows;
  }
  std::vector<std::vector<std::string>> cells;
  for (const auto& key : order)
    cells.push_back({escape_html(join(uses[key].names, ", ")), key.first, fmt::format("{}", uses[key].rows),
                     key.second.empty() ? "–" : escape_html(key.second)});
  return "<h3>Tolerances and their reasons</h3>\n" +
         table_html("Tolerances", {{"Quantity"}, {"Tolerance", true}, {"Rows", true}, {"Reason"}}, cells);
}

bool any_allowance(const Report& report) {
  for (const ReportRow& row : report.rows)
    if (row.verdict == Verdict::pass && row.ratio && row.tolerance && std::abs(*row.ratio - 1) > *row.tolerance)
      return true;
  return false;
}

std::string terms_html(const std::vector<ReportTerm>& terms) {
  std::vector<std::vector<std::string>> cells;
  for (const ReportTerm& term : terms) {
    std::string why = "<code>" + escape_html(term.formula) + "</code>";
    if (!term.because.empty()) why += "<br><span class=\"quiet\">" + escape_html(join(term.because, " · ")) + "</span>";
    cells.push_back({escape_html(level_name(term.boundary)), escape_html(term.array), escape_html(term.direction),
                     quantity_text("bytes", term.bytes), why});
  }
  return table_html("Terms", {{"Level"}, {"Array"}, {"Direction"}, {"Bytes", true}, {"Formula and cause"}}, cells);
}

}  // namespace

std::string roofline_html(const Report& report) {
  if (roofline_chart(report).is_null())
    return empty_html("A roofline needs roofs, and points with traffic, work and time; this report has none.");
  std::vector<Choice> dtypes, levels{{kEverything, "all levels"}};
  for (const std::string& dtype : roofline_dtypes(report)) dtypes.push_back({dtype, dtype});
  std::vector<std::string> keys;
  constexpr MarkShape kShapes[] = {MarkShape::circle, MarkShape::square, MarkShape::triangle, MarkShape::diamond};
  std::string operands;
  for (const Roof& roof : report.hardware.roofs) {
    const std::string name = level_name(roof.level), brief = level_short(roof.level);
    levels.push_back({roof.level, name});
    keys.push_back(
        key_html(kShapes[keys.size() % 4], name == brief ? name : name + " (" + brief + ")", colour_of(roof.level)));
    if (only_operands(report, roof.level))
      operands += " For " + name +
                  " the bytes are operand reads of matrix instructions, on both sides, because only they were counted.";
  }
  keys.push_back(key_html(MarkShape::circle, "predicted", "var(--ink)", "hollow"));
  keys.push_back(key_html(MarkShape::circle, "measured"));
  return controls_html(control_html("Data type", "dtype", "roofline", dtypes) +
                       control_html("Level", "level", "roofline", levels) +
                       control_html("Kernel", "kernel", "roofline", kernel_choices(report))) +
         legend_html(keys) +
         figure_html("roofline",
                     "Every point appears once a level, at the same height: its FLOP over the bytes which that level "
                     "moved. A point on a sloped "
                     "roof is bound by that memory, one under the flat roof by arithmetic. Point at a mark to follow "
                     "it through the levels." +
                         operands);
}

std::string traffic_html(const Report& report) {
  const std::vector<std::string> levels = traffic_levels(report);
  if (levels.empty()) return empty_html("No point carries traffic.");
  std::vector<Choice> points;
  for (const ReportPoint& point : report.points)
    points.push_back({point.key, point.label, report.derivation && report.derivation->point == point.id});
  std::string html = controls_html(control_html("Point", "point", "traffic-", points)) +
                     "<p class=\"point-facts\" id=\"point-facts\" aria-live=\"polite\"></p>\n" +
                     legend_html({key_html(MarkShape::bar, "read", "var(--ink-2)"),
                                  key_html(MarkShape::bar, "write", "var(--ink)", "hollow")}) +
                     "<div class=\"levels\">\n";
  for (const std::string& level : levels) {
    if (traffic_chart(report, level).is_null()) continue;
    const std::string part = only_operands(report, level) ? ": operands of matrix instructions" : "";
    html += fmt::format("<section class=\"level\"><h3>{}{}</h3>{}</section>\n", escape_html(level_name(level)), part,
                        figure_html("traffic-" + level, ""));
  }
  return html + "</div>\n";
}

std::string errors_html(const Report& report) {
  if (error_chart(report).is_null()) return empty_html("Nothing was compared.");
  std::string caption =
      "Right of zero the prediction is too high, left of it too low. The axis is linear near zero and logarithmic "
      "further out; "
      "marks are spread over the height of their strip only so that equal errors do not hide each other.";
  std::vector<std::string> keys{key_html(MarkShape::circle, "within tolerance", "var(--pass)"),
                                key_html(MarkShape::cross, "outside", "var(--fail)"),
                                key_html(MarkShape::diamond, "no tolerance", "var(--info)", "hollow"),
                                key_html(MarkShape::bar, "tolerance", "var(--ink)", "band")};
  if (any_allowance(report)) {
    keys.insert(keys.begin() + 1, key_html(MarkShape::circle, "within an absolute allowance", "var(--pass)", "hollow"));
    caption += " The experiment allows some quantities a few bytes beside the tolerance; small sizes can need them.";
  }
  return controls_html(control_html("Kernel", "kernel", "errors", kernel_choices(report))) + legend_html(keys) +
         figure_html("errors", caption) + tolerances_html(report);
}

std::string tiles_html(const Report& report) {
  if (tile_chart(report).is_null()) return empty_html("This report has no tile map.");
  const TileMap& map = *report.tile_map;
  return "<p>" + escape_html(map.title.empty() ? map.kernel + " on " + map.hardware : map.title) + "</p>\n" +
         controls_html(control_html("Show", "metric", "tiles",
                                    {{"seconds", "predicted time"}, {"bytes", "bytes read from L2"}})) +
         figure_html("tiles",
                     "A stronger tint is more, the smallest is outlined. A cross marks a tile that does not fit; point "
                     "at it to see "
                     "which memory is too small and by how much.");
}

std::string derivation_html(const Report& report) {
  if (!report.derivation) return empty_html("This report has no derivation.");
  const ReportDerivation& d = *report.derivation;
  std::string html = d.title.empty() ? "" : "<h3>" + escape_html(d.title) + "</h3>\n";
  html += "<div class=\"derivation\"><div class=\"prose\">\n";
  for (const std::string& paragraph : d.paragraphs) html += "<p>" + escape_html(paragraph) + "</p>\n";
  html += "</div>\n";
  if (!d.pseudocode.empty())
    html += "<pre tabindex=\"0\" aria-label=\"Pseudocode\"><code>" + escape_html(d.pseudocode) + "</code></pre>\n";
  return html + "</div>\n" + (d.terms.empty() ? "" : terms_html(d.terms));
}

std::string notes_html(const Report& report) {
  // What `measure` always does (validate/README.md), unless the input says it in its own words.
  static const std::vector<std::string> kUsual{
      "Each result was compared with a double-precision computation before anything was counted.",
      "Counters: CUPTI's range profiler, one range a kernel, replayed as a whole after the L2 was flushed by reading "
      "four times its size. HBM and "
      "L2 traffic are medians of three counts.",
      "HBM writes are counted with a second flush inside the range, because the output stays in the L2 when a kernel "
      "ends.",
      "Register traffic has no counter: it is derived from executed instructions by type, times the width of their "
      "operands.",
      "Times come from CUDA events, without counters: cold with a flushed L2 before each run, otherwise back to back "
      "after warming up. The "
      "numbers here are medians."};
  std::string html;
  const bool measured = headline_of(report).measured_points > 0;
  for (const std::string& note : report.notes.empty() && measured ? kUsual : report.notes)
    html += "<li>" + escape_html(note) + "</li>\n";
  return html.empty() ? empty_html("Nothing was measured.") : "<ul>\n" + html + "</ul>\n";
}

}  // namespace tilescope::report
