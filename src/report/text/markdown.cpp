#include <fmt/format.h>

#include "report/model.h"
#include "report/report.h"
#include "report/text/headline.h"
#include "report/text/text_format.h"

namespace tilescope {
namespace {

using namespace report;

// A fence longer than any run of backticks inside, so that the text cannot end it.
std::string fenced(const std::string& text) {
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += '`';
  return fence + "text\n" + text + (text.ends_with('\n') ? "" : "\n") + fence + "\n\n";
}

std::string failures(const Report& content, const Headline& headline) {
  std::string out =
      "## Outside tolerance\n\n| point | quantity | predicted | measured | ratio | tolerance "
      "|\n|---|---|--:|--:|--:|--:|\n";
  for (const ReportRow& row : headline.failures)
    out +=
        fmt::format("| {} | {} | {} | {} | {} | {} |\n", escape_markdown(label_of(content, row.point)),
                    escape_markdown(quantity_name(row.quantity, row.level)), quantity_text(row.quantity, row.predicted),
                    quantity_text(row.quantity, row.measured), ratio_text(row.ratio), tolerance_text(row.tolerance));
  return out + "\n";
}

std::string summary(const Report& content) {
  std::string out =
      "## Absolute relative error\n\n| kernel | quantity | n | outside | mean | median | p90 | worst "
      "|\n|---|---|--:|--:|--:|--:|--:|--:|\n";
  for (const Summary& s : content.summary)
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", escape_markdown(s.kernel),
                       escape_markdown(quantity_name(s.quantity, s.level)), plain_number(s.n),
                       s.failed ? plain_number(s.failed) : "–", percent_text(s.mean), percent_text(s.median),
                       percent_text(s.p90), percent_text(s.worst));
  return out + "\n";
}

std::string derivation(const ReportDerivation& d) {
  std::string out = "## " + (d.title.empty() ? std::string("Derivation") : escape_markdown(d.title)) + "\n\n";
  for (const std::string& paragraph : d.paragraphs) out += escape_markdown(paragraph) + "\n\n";
  if (!d.pseudocode.empty()) out += fenced(d.pseudocode);
  if (d.terms.empty()) return out;
  out += "| boundary | array | direction | bytes | formula | because |\n|---|---|---|--:|---|---|\n";
  for (const ReportTerm& term : d.terms) {
    std::string causes;
    for (const std::string& cause : term.because) causes += (causes.empty() ? "" : "; ") + escape_markdown(cause);
    out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", escape_markdown(term.boundary), escape_markdown(term.array),
                       escape_markdown(term.direction), quantity_text("bytes", term.bytes),
                       escape_markdown(term.formula), causes);
  }
  return out + "\n";
}

}  // namespace

std::string render_markdown(const analysis::Report& content) {
  const Headline headline = headline_of(content);
  std::string out =
      "# " + escape_markdown(content.title) + "\n\n" + escape_markdown(headline_sentence(content, headline));
  if (headline.points > 0 && headline.measured_points == 0) out += " " + escape_markdown(answer_sentence(content));
  if (headline.checked > 0)
    out +=
        fmt::format(" {} of {} checked numbers are within tolerance, {} outside; {} are reported without a tolerance.",
                    headline.passed, headline.checked, headline.failed, headline.informative);
  out += "\n\n";
  if (!content.generated.empty() || !content.revision.empty())
    out += fmt::format("Generated {}{}.\n\n", escape_markdown(content.generated),
                       content.revision.empty() ? "" : " at revision " + escape_markdown(content.revision));
  if (headline.failed > 0) out += failures(content, headline);
  if (!content.summary.empty()) out += summary(content);
  if (content.pictures) out += pictures_markdown(*content.pictures);
  if (content.derivation) out += derivation(*content.derivation);
  return out;
}

}  // namespace tilescope
