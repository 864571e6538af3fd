// Ladders of speed as bars. Every sentence is put together from differences of two steps; none knows a kernel.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "report/model.h"
#include "report/page/family_parts.h"
#include "report/page/html_parts.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

// The longest bar of each kind; bars of one ladder are drawn to one scale.
struct Scale {
  double flop = 0, seconds = 0, bytes = 0;
};

Scale scale_of(const Ladder& ladder) {
  Scale scale;
  for (const LadderStep& step : ladder.steps) {
    scale.flop = std::max({scale.flop, step.flop_per_second.value_or(0), step.predicted_flop_per_second.value_or(0)});
    scale.seconds = std::max({scale.seconds, step.seconds.value_or(0), step.predicted_seconds.value_or(0)});
    scale.bytes = std::max(scale.bytes, step.kv_bytes.value_or(0));
  }
  return scale;
}

std::string bar_html(const char* css_class, const Number& value, const Number& predicted, double longest) {
  const auto share = [&](const Number& number) { return longest > 0 ? 100 * number.value_or(0) / longest : 0; };
  std::string html = fmt::format("<span class=\"bar {}\" aria-hidden=\"true\"><i style=\"width:{:.2f}%\"></i>",
                                 css_class, share(value));
  if (predicted) html += fmt::format("<b style=\"width:{:.2f}%\"></b>", share(predicted));
  return html + "</span>";
}

std::string bars_html(const Ladder& ladder, const LadderStep& step, const Scale& scale) {
  if (ladder.kind == LadderKind::flop)
    return bar_html("speed", step.flop_per_second, step.predicted_flop_per_second, scale.flop);
  return bar_html("speed", step.seconds, step.predicted_seconds, scale.seconds) +
         bar_html("size", step.kv_bytes, {}, scale.bytes);
}

// "FLOP/s" of one ladder share a prefix, so that they compare at a glance.
std::string tera_html(const Number& flop_per_second) {
  return data_html(flop_per_second, fmt::format("{:.1f} TFLOP/s", flop_per_second.value_or(0) / 1e12));
}

std::string value_html(const Ladder& ladder, const LadderStep& step) {
  const std::string time = amount_html("seconds", step.seconds);
  const auto line = [](const std::string& html) { return "<span class=\"quiet\">" + html + "</span>"; };
  if (ladder.kind == LadderKind::flop) return "<strong>" + tera_html(step.flop_per_second) + "</strong>" + line(time);
  return "<strong>" + time + "</strong>" + line("K, V " + amount_html("bytes", step.kv_bytes)) +
         line(rate_html("bytes", step.kv_bytes_per_second));
}

std::string fact_html(const char* name, const std::string& html) {
  return html.empty() ? "" : fmt::format("<dt>{}</dt><dd>{}</dd>", name, html);
}

// What the model says of the step: of the resource that bound the step before, and of the one that binds now.
std::string model_html(const LadderStep& step) {
  const std::string now = fmt::format("{}, bound by {}", amount_html("seconds", step.predicted_seconds),
                                      escape_html(resource_name(step.bound_by)));
  if (!step.gain) return now;
  const Gain& g = *step.gain;
  return fmt::format("{}: {}, the bound before, takes {} instead of {}; now {}", factor_html(g.predicted_factor),
                     escape_html(resource_name(g.bound_before)), amount_html("seconds", g.bound_before_seconds_now),
                     amount_html("seconds", g.bound_before_seconds), now);
}

std::string nearness_html(const LadderStep* before, const LadderStep& step) {
  const std::string now = percent_html(step.nearness) + " of the speed that the model allows";
  if (!before || !step.gain) return now;
  return fmt::format("{}: {}, {} before", factor_html(step.gain->nearness_factor), now, percent_html(before->nearness));
}

std::string path_html(const LadderStep* before, const LadderStep& step) {
  const auto one = [](const LadderStep& s) {
    return escape_html(s.path.empty() ? "none" : s.path) +
           (s.path_flop_per_second ? ", at most " + tera_html(s.path_flop_per_second) : "");
  };
  if (!before) return one(step);
  if (!step.gain || !step.gain->path_changed) return {};
  return one(step) + "; before: " + one(*before);
}

std::string clock_html(const LadderStep& step) {
  if (!step.clocks) return {};
  const ClockState& c = *step.clocks;
  std::string html = fmt::format("{}, {} of {}", amount_html("sm_hz", c.sm_hz),
                                 data_html(c.power_w, fmt::format("{:.0f} W", c.power_w.value_or(0))),
                                 data_html(c.power_limit_w, fmt::format("{:.0f} W", c.power_limit_w.value_or(0))));
  if (!c.throttle.empty()) html += ", held down by " + escape_html(join(c.throttle, ", "));
  if (step.gain && step.gain->cycles_factor)
    html += "; in SM cycles the gain is " + factor_html(step.gain->cycles_factor);
  return html;
}

std::string change_html(const LadderChange& c) {
  return fmt::format(
      "<tr data-quantity=\"{}\"><th scope=\"row\">{}</th><td class=\"n\">{} → {}</td><td class=\"n\">{}</td><td "
      "class=\"n\">{}</td></tr>",
      escape_html(c.quantity), escape_html(c.title), amount_html(c.quantity, c.before),
      amount_html(c.quantity, c.after), less_html(c.factor), less_html(c.counted_factor));
}

std::string changes_html(const LadderStep& step) {
  if (!step.gain || step.gain->changes.empty()) return {};
  std::string html =
      "<table class=\"changes\"><thead><tr><th scope=\"col\">predicted</th><th scope=\"col\" class=\"n\">before → "
      "now</th><th scope=\"col\" class=\"n\">model</th>"
      "<th scope=\"col\" class=\"n\">counters</th></tr></thead><tbody>";
  for (const LadderChange& change : step.gain->changes) html += change_html(change);
  return html + "</tbody></table>";
}

std::string why_html(const LadderStep* before, const LadderStep& step) {
  return "<dl>" + fact_html("model", model_html(step)) + fact_html("nearness", nearness_html(before, step)) +
         fact_html("products", path_html(before, step)) + fact_html("changed", changes_html(step)) +
         fact_html("clock", clock_html(step)) + "</dl>";
}

std::string step_html(const Ladder& ladder, std::size_t i, const Scale& scale) {
  const LadderStep& step = ladder.steps[i];
  const std::string variants = step.variants.value_or(1) > 1
                                   ? fmt::format(" <span class=\"quiet\">fastest of {} measured</span>",
                                                 data_html(step.variants, plain_number(step.variants)))
                                   : "";
  return fmt::format(
      "<li class=\"step{}\" data-kernel=\"{}\"><div class=\"who\"><strong>{}</strong> {} {}{}<span "
      "class=\"what\">{}</span></div>"
      "<div class=\"bars\">{}</div><div class=\"value\">{}</div><div class=\"gain\">{}</div><div "
      "class=\"why\">{}</div></li>\n",
      step.third_party ? " third" : "", escape_html(step.kernel), escape_html(step.kernel),
      escape_html(step.implementation), third_party_html(step.third_party), variants, escape_html(step.summary),
      bars_html(ladder, step, scale), value_html(ladder, step), step.gain ? factor_html(step.gain->factor) : "",
      why_html(i > 0 ? &ladder.steps[i - 1] : nullptr, step));
}

std::string ladder_html(const Ladder& ladder, bool open) {
  const Scale scale = scale_of(ladder);
  const LadderStep& fastest = ladder.steps.back();
  std::string html = fmt::format(
      "<details class=\"ladder\"{}><summary><h3>{}</h3><span class=\"quiet\">{} steps to {}</span></summary>\n",
      open ? " open" : "", escape_html(ladder.title), ladder.steps.size(), escape_html(fastest.kernel));
  if (ladder.kind == LadderKind::bytes)
    html +=
        std::string(
            "<p class=\"quiet\">The fastest step is bound by HBM: the upper bar is time, the lower one the bytes of K "
            "and V.") +
        (ladder.fits_l2 ? " These bytes fit the L2, so runs back to back need not fetch them from HBM again." : "") +
        "</p>";
  html += "<ol class=\"steps\">\n";
  for (std::size_t i = 0; i < ladder.steps.size(); ++i) html += step_html(ladder, i, scale);
  return html + "</ol></details>\n";
}

}  // namespace

std::string family_ladders_html(const FamilyPage& family) {
  if (family.ladders.empty()) return empty_html("No workload was measured with two kernels or formats.");
  std::string html = legend_html({key_html(MarkShape::bar, "measured", "var(--ours)"),
                                  key_html(MarkShape::bar, "measured, third party", "var(--theirs)"),
                                  key_html(MarkShape::bar, "predicted", "var(--ink)", "hollow"),
                                  key_html(MarkShape::bar, "bytes of K and V", "var(--rule)")});
  std::set<std::string> shown;  // the first ladder of each pass and kind stands open
  for (const Ladder& ladder : family.ladders)
    if (!ladder.steps.empty()) html += ladder_html(ladder, shown.insert(ladder.pass + to_string(ladder.kind)).second);
  return html;
}

}  // namespace tilescope::report
