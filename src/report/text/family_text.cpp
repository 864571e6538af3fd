// The family as Markdown and CSV.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/escape.h"
#include "report/model.h"
#include "report/report.h"
#include "report/text/text_format.h"

namespace tilescope {
namespace {

using namespace report;

std::string times(const Number& factor) { return factor ? fmt::format("×{:.2f}", *factor) : "–"; }

std::string table(const FamilyPage& family) {
  std::string out =
      "## Kernel family\n\n| kernel | records | shown | quantity | predicted | counted | error | worst "
      "|\n|---|--:|---|---|--:|--:|--:|--:|\n";
  for (const FamilyRow& row : family.rows)
    for (const FamilyNumber& n : row.numbers) {
      const auto& spread = n.judged ? n.judged : n.not_judged;
      out += fmt::format("| {} | {} | {} {} | {} | {} | {} | {} | {} |\n", escape_markdown(row.kernel),
                         plain_number(row.records), escape_markdown(row.implementation), escape_markdown(row.workload),
                         escape_markdown(n.title), quantity_short(n.quantity, n.predicted),
                         n.measured ? quantity_short(n.quantity, n.measured) : escape_markdown(n.absent),
                         error_text(n.ratio), spread ? percent_text(spread->worst) : "–");
    }
  return out + "\n";
}

std::string ladder(const Ladder& l) {
  std::string out = "## " + escape_markdown(l.title) +
                    "\n\n| kernel | formats and tile | time | TFLOP/s | K, V | predicted time | bound by | gain | by "
                    "the model |\n|---|---|--:|--:|--:|--:|---|--:|--:|\n";
  for (const LadderStep& s : l.steps)
    out += fmt::format("| {}{} | {} | {} | {:.1f} | {} | {} | {} | {} | {} |\n", escape_markdown(s.kernel),
                       s.third_party ? " (third party)" : "", escape_markdown(s.implementation),
                       quantity_short("seconds", s.seconds), s.flop_per_second.value_or(0) / 1e12,
                       quantity_short("bytes", s.kv_bytes), quantity_short("seconds", s.predicted_seconds),
                       escape_markdown(resource_name(s.bound_by)), s.gain ? times(s.gain->factor) : "",
                       s.gain ? times(s.gain->predicted_factor) : "");
  return out + "\n";
}

}  // namespace

std::string render_family_markdown(const analysis::FamilyPage& content) {
  std::string out = fmt::format("# {}\n\nGenerated {} at revision {}.\n\n", escape_markdown(content.title),
                                escape_markdown(content.generated), escape_markdown(content.revision));
  if (!content.rows.empty()) out += table(content);
  for (const Ladder& l : content.ladders) out += ladder(l);
  return out;
}

std::string render_family_csv(const analysis::FamilyPage& content) {
  std::string out = "kernel,implementation,workload,quantity,predicted,measured,ratio,absent\n";
  for (const FamilyRow& row : content.rows)
    for (const FamilyNumber& n : row.numbers) {
      for (const std::string& cell : {row.kernel, row.implementation, row.workload, n.quantity})
        out += csv_escaped(cell) + ',';
      for (const Number& number : {n.predicted, n.measured, n.ratio}) out += plain_number(number) + ',';
      out += csv_escaped(n.absent) + '\n';
    }
  return out;
}

}  // namespace tilescope
