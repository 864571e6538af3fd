#include "cli/commands/commands.h"
#include "cli/commands/why_not.h"
#include "cli/output/prediction_text.h"
#include "predict/explain/pseudocode.h"

namespace tilescope::cli {
namespace {

// Markdown keeps indentation only inside a fenced block.
std::string code_block(const std::string& code, OutputFormat format) {
  return format == OutputFormat::md ? "```\n" + code + "```\n" : code;
}

ExitStatus explain(const Arguments& arguments) {
  if (arguments.has("why-not")) return print_why_not(arguments, read_plan(arguments).schedule);
  const Answer a = answer(arguments);
  const Style style = style_of(arguments);
  if (!a.outside.empty()) {
    deliver(arguments, style.format == OutputFormat::json ? a.json().dump(2) + "\n" : prediction_text(a, style));
    return status_of(a.prediction);
  }
  const Table terms = table_of("terms", term_columns(), term_rows(a.plan, a.point, a.prediction));
  if (style.format == OutputFormat::json) deliver(arguments, a.json().dump(2) + "\n");
  else if (style.format == OutputFormat::csv) deliver(arguments, render(terms, style));
  else
    deliver(arguments, prediction_text(a, style) + "\n" +
                           render(table_of("lower bounds (of bytes read and written at a level)", bound_columns(),
                                           bound_rows(a.plan, a.hardware, a.point, a.prediction)),
                                  style) +
                           "\n" + render(terms, style) + "\n" +
                           code_block(pseudocode(a.plan, a.hardware, a.point), style.format));
  return status_of(a.prediction);
}

std::vector<OptionSpec> explain_options() {
  return point_options() +
         std::vector<OptionSpec>{{"why-not",
                                  "AXIS:whole|group|stream|parts: whether the schedule may partition AXIS so, and the "
                                  "rule that forbids it"}} +
         output_options();
}

}  // namespace

Command explain_command() {
  return {.name = "explain",
          .summary = "predict one point, with the formula and the loops behind every term",
          .usage = "--hardware ID [--kernel NAME | --schedule NAME] --q-len N ...",
          .examples = {"tilescope explain --hardware h200_sxm --kernel fused_mma --heads 16 --q-len 4k --head-dim 128",
                       "tilescope explain --schedule flash2 --why-not kv:group"},
          .notes = "--format csv prints the terms.",
          .options = explain_options,
          .run = explain};
}

}  // namespace tilescope::cli
