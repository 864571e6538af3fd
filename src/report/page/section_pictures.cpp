// The sections of the pictures of accuracy: where time goes, DRAM over length, residuals, clock and power.
#include <fmt/format.h>

#include <algorithm>

#include "report/charts/chart.h"
#include "report/page/html_parts.h"
#include "report/page/sections.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

// Groups first, where there are both, then every kernel of the list in its order.
template <typename List>
std::vector<Choice> choices_of(const List& list, std::vector<Choice> choices) {
  const auto theirs = [](const auto& item) { return item.third_party; };
  const bool both = std::any_of(list.begin(), list.end(), theirs) && !std::all_of(list.begin(), list.end(), theirs);
  const bool grouped = choices.empty();  // nothing shows them all: one group must
  if (both || (grouped && !std::all_of(list.begin(), list.end(), theirs)))
    choices.push_back({kOurs, both ? "our kernels" : "all kernels"});
  if (both || (grouped && std::all_of(list.begin(), list.end(), theirs)))
    choices.push_back({kTheirs, both ? "third-party kernels" : "all kernels"});
  for (const auto& item : list)
    if (std::none_of(choices.begin(), choices.end(), [&](const Choice& c) { return c.value == item.kernel; }))
      choices.push_back({item.kernel, item.kernel});
  return choices;
}

std::string controls(const std::string& charts, const std::vector<Choice>& choices) {
  return "<div class=\"controls\">\n" + control_html("Kernel", "kernel", charts, choices) + "</div>\n";
}

std::string quantity_title(const std::string& quantity) {
  if (quantity == "hbm_read_bytes") return "Bytes read from DRAM, cold";
  if (quantity == "busy_cycles") return "Clocks in which a multiprocessor holds a block";
  return "Time, back to back";
}

// The third-party kernels' entry where there is one.
bool any_third_party(const Pictures& pictures) {
  return std::any_of(pictures.residuals.begin(), pictures.residuals.end(),
                     [](const Residual& r) { return r.third_party; });
}

}  // namespace

std::string lengths_html(const Report& report) {
  if (!report.pictures) return {};
  const Pictures& pictures = *report.pictures;
  if (pictures.lengths.empty()) return {};
  std::string html =
      legend_html(
          {key_html(MarkShape::circle, "measured"), key_html(MarkShape::circle, "predicted", "var(--hbm)", "hollow"),
           key_html(MarkShape::stroke, "compulsory: inputs once, outputs once", "var(--ink-2)"),
           key_html(MarkShape::stroke, "without a cache: what the multiprocessors ask of the L2", "var(--l2)")}) +
      "<div class=\"levels three\">\n";
  for (std::size_t i = 0; i < pictures.lengths.size(); ++i) {
    const LengthSeries& series = pictures.lengths[i];
    html += fmt::format("<section class=\"level\"><h3 class=\"name\">{}</h3><p class=\"quiet\">{}</p>{}</section>\n",
                        escape_html(series.kernel), escape_html(series.label),
                        figure_html(fmt::format("length-{}", i), ""));
  }
  return html +
         "</div>\n<p class=\"quiet\">Both axes are logarithmic. DRAM bytes are reads plus writes, of a launch that "
         "begins with a cold L2 and ends when everything "
         "written has left it. Shown is every kernel, with tile, heads and mask, that has records of three or more "
         "lengths over a factor of four, of " +
         escape_html(records_text(pictures)) + ".</p>\n";
}

std::string residuals_html(const Report& report) {
  if (!report.pictures) return {};
  const Pictures& pictures = *report.pictures;
  if (pictures.residuals.empty()) return {};
  std::vector<std::string> keys{key_html(MarkShape::circle, "our kernels, within the bar", "var(--pass)"),
                                key_html(MarkShape::circle, "outside", "var(--fail)", "hollow")};
  if (any_third_party(pictures)) {
    keys.push_back(key_html(MarkShape::triangle, "third-party kernels, within the bar", "var(--pass)"));
    keys.push_back(key_html(MarkShape::triangle, "outside", "var(--fail)", "hollow"));
  }
  keys.push_back(key_html(MarkShape::bar, "error bar", "var(--ink)", "band"));
  std::string html =
      controls("residual-", choices_of(pictures.residuals, {{kEverything, "all kernels"}})) + legend_html(keys);
  for (const char* quantity : kResidualQuantities)
    if (!residual_chart(report, quantity).is_null())
      html += fmt::format("<h3>{}</h3>\n{}", quantity_title(quantity),
                          figure_html(std::string("residual-") + quantity, ""));
  return html + "<p class=\"quiet\">" + escape_html(records_text(pictures)) +
         ", a mark each, over their measured size; above zero the prediction is too high. Errors beyond 100 % stand on "
         "the edge. The error bar of one kernel is what "
         "<code>tilescope predict</code> states for it, by regime (under 20 µs, memory, compute, spills); for a group "
         "of "
         "kernels it is the one that holds nine of ten of its "
         "records. No bar is stated for clocks: theirs holds nine of ten of the kernel's records. Marks inside the bar "
         "that is shown are filled.</p>\n";
}

std::string clocks_html(const Report& report) {
  if (!report.pictures) return {};
  const Pictures& pictures = *report.pictures;
  if (pictures.clocks.empty()) return {};
  const PowerAgreement& power = pictures.power_limit;
  const std::int64_t all = power.both + power.model_only + power.gpu_only + power.neither;
  return legend_html({key_html(MarkShape::circle, "predicted", "var(--hbm)", "hollow"),
                      key_html(MarkShape::square, "NVML"),
                      key_html(MarkShape::bar, "cycles over seconds: from, to", "var(--waits)", "outlined"),
                      key_html(MarkShape::triangle_down, "the GPU reported its power cap", "var(--fail)")}) +
         "<div class=\"levels\">\n<section class=\"level\"><h3>SM clock</h3>" + figure_html("clock", "") +
         "</section>\n<section class=\"level\"><h3>Board power</h3>" + figure_html("power", "") +
         "</section>\n</div>\n<p class=\"quiet\">" +
         escape_html(fmt::format("The longest record of each kernel, of {}, where it runs at least 100 µs. The GPU's "
                                 "own readings are weak witnesses: NVML's power is an average over about a "
                                 "second, of which the runs fill a fifth, so it reads low; its clock reads higher than "
                                 "cycles over seconds. The run's clock lies between cycles in which a "
                                 "multiprocessor holds a block and elapsed cycles with the profiler's own, both over "
                                 "seconds and counted cold. Whether the power cap slows the GPU down is "
                                 "exact: of {} records model and GPU agree in {} ({} at the limit, {} below); the "
                                 "model alone says so in {}, the GPU alone in {}.",
                                 records_text(pictures), all, power.both + power.neither, power.both, power.neither,
                                 power.model_only, power.gpu_only)) +
         "</p>\n";
}

}  // namespace tilescope::report
