#include "report/page/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/contains.h"
#include "base/text.h"
#include "report/charts/chart.h"
#include "report/charts/levels.h"
#include "report/page/html_parts.h"
#include "report/text/headline.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

constexpr const char* kHowToRead = R"(<ul>
<li><strong>Traffic at a level</strong> is the bytes that this memory serves to the next one inside (read) and takes
  from it (write). HBM: between DRAM and the L2 cache. L2: between the L2 cache and the multiprocessors. Shared
  memory: to and from registers and tensor cores. Register: operands of instructions.</li>
<li><strong>Predicted</strong> numbers follow from the loops of the schedule, the tile sizes and the description of
  the kernel. No parameter is fitted to an attention measurement.</li>
<li><strong>Error</strong> is predicted / measured − 1: positive where the prediction is too high.
  <strong>Tolerance</strong> is the error that the experiment allows for this quantity, set before the comparison;
  rows outside it are shown, never dropped.</li>
<li><strong>FLOP</strong> counts floating-point operations that the tiles execute; a fused multiply-add is two.
  <strong>Arithmetic intensity</strong> is FLOP over bytes at one level.</li>
<li>1 KiB is 1024 bytes, 1 kB is 1000 bytes; bandwidths and rates use decimal prefixes.</li>
</ul>
)";

std::vector<Choice> kernel_choices(const Report& report) {
  std::vector<Choice> choices{{kEverything, "all kernels"}};
  for (const std::string& kernel : headline_of(report).kernels) choices.push_back({kernel, kernel});
  return choices;
}

std::string controls_html(const std::string& html) { return "<div class=\"controls\">\n" + html + "</div>\n"; }

}  // namespace

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
  if (cells.empty()) return {};
  return "<h3>Tolerances and their reasons</h3>\n" +
         table_html("Tolerances", {{"Quantity"}, {"Tolerance", true}, {"Rows", true}, {"Reason"}}, cells);
}

namespace {

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
  const std::vector<RooflinePanel> panels = roofline_panels(report);
  if (panels.empty()) return {};
  std::vector<Choice> levels{{kEverything, "all levels"}};
  std::vector<std::string> keys;
  std::string operands;
  for (const std::string& level : roofline_frame(report).levels) {
    const std::string name = level_name(level), brief = level_short(level);
    levels.push_back({level, name});
    keys.push_back(level_key_html(level, name == brief ? name : name + " (" + brief + ")"));
    if (only_operands(report, level))
      operands += " For " + name +
                  " the bytes are operand reads of matrix instructions, on both sides, because only they were counted.";
  }
  keys.push_back(key_html(MarkShape::circle, "predicted", "var(--ink)", "hollow"));
  if (headline_of(report).measured_points > 0) keys.push_back(key_html(MarkShape::circle, "measured"));
  std::string html = controls_html(control_html("Level", "level", "roofline", levels) +
                                   control_html("Kernel", "kernel", "roofline", kernel_choices(report))) +
                     legend_html(keys) + "<div class=\"panels\">\n";
  for (std::size_t i = 0; i < panels.size(); ++i)
    html += fmt::format("<section class=\"level {}\"><h3 class=\"name\">{}</h3>{}</section>\n",
                        panels[i].width > 1000  ? "whole"
                        : panels[i].width > 400 ? "half"
                                                : "third",
                        escape_html(panel_title(panels[i])), figure_html(fmt::format("roofline-{}", i), ""));
  return html + "</div>\n<p class=\"quiet\">" +
         escape_html(
             "Each point has one mark per memory level. The marks of a point have the same height (FLOP/s). Their "
             "horizontal position is FLOP divided by the bytes moved at that level. A sloped roof is the highest rate "
             "that the time model uses for that memory; a mark on it is bound by that memory, one under the flat roof "
             "by arithmetic. Choose a mark (click, or arrow keys and Enter) to see the point below." +
             operands) +
         "</p>\n";
}

std::string point_html(const Report& report) {
  const std::vector<std::string> levels = traffic_levels(report);
  if (levels.empty()) return {};
  std::vector<Choice> points;
  for (const ReportPoint& point : report.points)
    points.push_back({point.key, point.label, report.derivation && report.derivation->point == point.id});
  std::string html = controls_html(control_html("Point", "point", "", points)) +
                     "<p class=\"point-facts\" id=\"point-facts\" aria-live=\"polite\"></p>\n<div class=\"levels\">\n";
  const auto part = [&](const std::string& title, const std::string& id) {
    html += fmt::format("<section class=\"level\"><h3>{}</h3>{}</section>\n", escape_html(title), figure_html(id, ""));
  };
  if (!time_chart(report).is_null()) part("Where the predicted time goes", "time");
  if (!gain_chart(report).is_null()) part("What would help: time saved by 10 % more of", "gain");
  html += "</div>\n";
  if (!time_chart(report).is_null())
    html +=
        "<p class=\"quiet\">The bottleneck is the resource with the longest stand-alone time. The bars show this time "
        "at the predicted clock, then the waiting time.</p>\n";
  html += legend_html({key_html(MarkShape::bar, "read", "var(--ink-2)"),
                       key_html(MarkShape::bar, "write", "var(--ink)", "hollow")}) +
          "<div class=\"levels\">\n";
  for (const std::string& level : levels)
    if (!traffic_chart(report, level).is_null())
      part("Bytes at " + (level == "register" ? "registers" : level_name(level)) +
               (only_operands(report, level) ? ": operands of matrix instructions" : ""),
           "traffic-" + level);
  return html + "</div>\n";
}

std::string errors_html(const Report& report) {
  if (error_chart(report).is_null()) return {};
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
         figure_html("errors", caption);
}

std::string tiles_html(const Report& report) {
  if (tile_chart(report).is_null()) return {};
  const TileMap& map = *report.tile_map;
  return "<p>" + escape_html(map.title.empty() ? map.kernel + " on " + map.hardware : map.title) + "</p>\n" +
         controls_html(control_html("Show", "metric", "tiles",
                                    {{"seconds", "predicted time"}, {"bytes", "bytes read from L2"}})) +
         figure_html(
             "tiles",
             "What predict answers for each tile. A stronger tint is better, the best tile is outlined. Below the "
             "number: "
             "warps (w), query heads in a tile (p, pack) and stages (s). The kernel has no instance of hatched tiles. "
             "A "
             "cross marks a tile that does not fit; point at it to see which memory is too small and by how much.");
}

std::string derivation_html(const Report& report) {
  if (!report.derivation) return {};
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
  const bool measured = headline_of(report).measured_points > 0;
  std::string html;
  for (const std::string& note : report.notes.empty() && measured ? kUsual : report.notes)
    html += "<li>" + escape_html(note) + "</li>\n";
  html = html.empty() ? "" : "<h3>How it was measured</h3>\n<ul>\n" + html + "</ul>\n";
  if (measured)
    html +=
        "<p>The records themselves keep the GPU, driver, clocks, the launch, all counters by name and all "
        "samples.</p>\n";
  return fmt::format("<div class=\"prose\">\n<h3>How to read the numbers</h3>\n{}{}</div>\n", kHowToRead, html);
}

}  // namespace tilescope::report
