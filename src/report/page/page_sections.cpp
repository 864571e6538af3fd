// Which sections a page has, in which order: the argument first, the reference folded below it.
#include <fmt/format.h>

#include <algorithm>

#include "report/page/html_parts.h"
#include "report/page/sections.h"
#include "report/text/text_format.h"

namespace tilescope::report {

std::string numbers_html(const Report& report) {
  if (report.points.empty()) return {};
  return R"(<div class="controls">
<label class="control"><span>Search</span>
  <input type="search" id="filter-text" placeholder="point, kernel or quantity"></label>
<label class="control"><span>Quantity</span><select id="filter-quantity"><option value="">all quantities</option>
  </select></label>
<label class="control"><span>Verdict</span><select id="filter-verdict"><option value="">all</option>
  <option value="fail">outside tolerance</option><option value="pass">within tolerance</option>
  <option value="info">no tolerance</option><option value="-">not compared</option></select></label>
<button type="button" id="download-csv">Download CSV</button>
</div>
<p class="quiet" id="row-count" aria-live="polite"></p>
<div class="scroll tall" tabindex="0" role="region" aria-label="Table of all numbers"><table id="numbers"><thead>
  </thead><tbody></tbody></table></div>
<p class="print-only">The full table is left out in print; the page on screen has it, with a CSV download.</p>
)";
}

std::vector<Section> page_sections(const Report& report) {
  std::vector<Section> sections{
      {"answer", "Result", "Result", answer_html(report)},
      {"point", "Time and traffic", "Time, what would help, traffic", point_html(report)},
      {"errors-section", "Errors", "How far off the predictions are", errors_html(report)},
      {"residuals-section", "Residuals", "Residuals over size: DRAM, cycles, time", residuals_html(report)},
      {"lengths-section", "DRAM", "DRAM bytes over sequence length", lengths_html(report)},
      {"tiles-section", "Tiles", "Tile map", tiles_html(report)},
      {"checked", "Checks", "What was checked, by kernel and quantity",
       checked_html(report) + summary_html(report) + tolerances_html(report), true},
      {"clocks-section", "Clock and power", "Clock and power", clocks_html(report), true},
      {"derivation", "Derivation", "Where the bytes come from", derivation_html(report), true},
      {"numbers-section", "Numbers", "All numbers", numbers_html(report), true},
      {"notes", "Notes", "Notes", notes_html(report), true}};
  std::erase_if(sections, [](const Section& section) { return section.html.empty(); });
  return sections;
}

std::string sections_html(const std::vector<Section>& sections) {
  std::string html;
  for (const Section& section : sections) {
    const std::string id = escape_html(section.id);
    const std::string heading = fmt::format("<h2 id=\"{}-title\">{}</h2>", id, escape_html(section.title));
    html += fmt::format("<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n", id);
    html += section.folded ? fmt::format("<details><summary>{}</summary>\n{}</details>\n", heading, section.html)
                           : heading + "\n" + section.html;
    html += "</section>\n";
  }
  return html;
}

std::string links_html(const std::vector<Section>& sections) {
  std::string html;
  for (const Section& section : sections)
    html += fmt::format("<a href=\"#{}\">{}</a>\n", escape_html(section.id), escape_html(section.link));
  return html;
}

}  // namespace tilescope::report
