#include <fmt/format.h>

#include "base/files.h"
#include "cli/commands/commands.h"
#include "cli/commands/why_not.h"
#include "cli/output/code/simulation_output.h"
#include "cli/output/prediction_text.h"
#include "predict/explain/pseudocode.h"
#include "predict/predict.h"
#include "simulate/timeline.h"

namespace tilescope::cli {
namespace {

// Markdown keeps indentation only inside a fenced block.
std::string code_block(const std::string& code, OutputFormat format) {
  return format == OutputFormat::md ? "```\n" + code + "```\n" : code;
}

// A step of the kernel, simulated with as many blocks on an SM as are predicted.
std::string simulated_code(const Arguments& arguments, const Answer& a, const Style& style) {
  constexpr int shown_passes = 4;
  const auto shown = shown_step(a.plan, a.hardware, a.point);
  if (!shown)
    refuse(arguments.has("code") ? "--code" : "--timeline",
           fmt::format("needs a kernel that multiplies on tensor cores, no assumed one, and the measured rates of its "
                       "instructions in the profile of {}",
                       a.hardware.id));
  const auto listed = a.plan.steps->listed(shown->question, a.hardware, arguments.has("timeline") ? shown_passes : 0);
  if (const auto file = arguments.text("timeline"))
    write_file(*file, timeline_json(a.plan.kernel.name, listed.code, listed.simulation, listed.simulation.loops[0]));
  if (!arguments.has("code")) return "";
  std::string text = simulation_text(listed.code, listed.simulation, true, style);
  if (shown->synthesised)
    text +=
        "This program is synthesised: the machine code of the kernel is not known. Its instructions follow from the "
        "counts, their order from rules (docs/model.md); UMOV stands for what only takes a slot.\n";
  return text;
}

ExitStatus explain(const Arguments& arguments) {
  for (const char* option : {"code", "timeline"})
    if (arguments.has("why-not") && arguments.has(option))
      refuse(fmt::format("--{}", option),
             "has no meaning for --why-not, which asks about loops; leave out one of them");
  if (const OutputFormat format = arguments.format();
      arguments.has("code") && (format == OutputFormat::json || format == OutputFormat::csv))
    refuse("--code", "is a listing: expected --format text or md");
  if (arguments.has("why-not")) return print_why_not(arguments, read_plan(arguments).schedule);
  const Answer a = answer(arguments);
  const Style style = style_of(arguments);
  if (!a.outside.empty()) {
    deliver(arguments, style.format == OutputFormat::json ? a.json().dump(2) + "\n" : prediction_text(a, style));
    return status_of(a.prediction);
  }
  const std::string code =
      arguments.has("code") || arguments.has("timeline") ? simulated_code(arguments, a, style) : "";
  const Table terms = table_of("terms", term_columns(), term_rows(a.plan, a.point, a.prediction));
  if (style.format == OutputFormat::json) deliver(arguments, a.json().dump(2) + "\n");
  else if (style.format == OutputFormat::csv) deliver(arguments, render(terms, style));
  else
    deliver(arguments, prediction_text(a, style) + "\n" +
                           render(table_of("lower bounds (of bytes read and written at a level)", bound_columns(),
                                           bound_rows(a.plan, a.hardware, a.point, a.prediction)),
                                  style) +
                           "\n" + render(terms, style) + "\n" +
                           code_block(pseudocode(a.plan, a.hardware, a.point), style.format) + code);
  return status_of(a.prediction);
}

std::vector<OptionSpec> explain_options() {
  return point_options() +
         std::vector<OptionSpec>{
             {"why-not",
              "AXIS:whole|group|stream|parts: whether the schedule may partition AXIS so, and the "
              "rule that forbids it"},
             {"code",
              "list the machine code of a step, or the program that stands for it where the code is not known: beside "
              "each instruction the clocks that it holds a warp, and why",
              Value::flag},
             {"timeline", "write the simulated steps as a trace for the Perfetto UI", Value::output_file}} +
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
