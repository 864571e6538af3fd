#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/output/prediction_text.h"
#include "cli/output/progress.h"
#include "request/choices/choices.h"
#include "request/searched.h"

namespace tilescope::cli {
namespace {

// A search without a kernel is of a hypothetical one.
std::string ideal_text(const Plan& plan) {
  return !plan.assumed ? ""
                       : fmt::format(
                             "of a hypothetical kernel of schedule '{}'; use --kernel auto for the fastest "
                             "described kernel\n",
                             plan.schedule.name);
}

// The first `most` rows as text, and the number of the others.
std::string shortened(Table table, std::size_t most, const Style& style) {
  const std::size_t all = table.rows.size();
  if (all > most) table.rows.resize(most);
  return render(table, style) +
         (all > most ? fmt::format("and {} more; --format json lists them all\n", all - most) : "");
}

std::string notes_on(const SearchResult& result) {
  std::string out;
  if (result.thinned)
    out += fmt::format("\nnote: some sizes were left out, because a search tries at most {} points\n",
                       with_thousands(static_cast<long long>(most_search_points)));
  if (result.unmeasured_rates)
    out += "\nnote: the profile lacks a rate, so the order ignores that resource; see tilescope predict\n";
  return out;
}

// --emit: a table for a dispatcher.
ExitStatus emit(const Arguments& arguments) {
  if (!arguments.has("axis"))
    refuse("--emit", "needs the sizes of which the table is: give --axis, as in --axis q_len=128:16k:x2");
  Choices choices;
  {
    Progress progress(arguments, "search");
    choices = choices_of(arguments, progress.callback());
  }
  deliver(arguments, arguments.text("emit") == "json" ? choices.json().dump(2) + "\n" : choices.header());
  return choices.list.empty() ? ExitStatus::answer_no : ExitStatus::done;
}

ExitStatus search(const Arguments& arguments) {
  if (arguments.has("emit")) return emit(arguments);
  for (const OptionSpec& option : choices_options())
    if (arguments.has(option.name)) refuse("--" + option.name, "belongs to --emit: give --emit json or --emit header");
  Searched searched;
  {
    Progress progress(arguments, "search");
    searched = search_of(arguments, progress.callback());
  }
  const SearchResult& result = searched.result;
  const Style style = style_of(arguments);
  const Table best = table_of("feasible tiles, best first", searched.best_columns(), searched.best());
  if (style.format == OutputFormat::json) deliver(arguments, searched.json().dump(2) + "\n");
  else if (style.format == OutputFormat::csv) deliver(arguments, render(best, style));
  else if (!searched.outside.empty())
    deliver(arguments, fmt::format("infeasible: {}\n", join(searched.outside, "\ninfeasible: ")));
  else {
    const Table fallen = table_of("fell out", searched.fallen_columns(), searched.fallen());
    deliver(arguments, (searched.how.empty() ? "" : searched.how + "\n\n") + render(best, style) + "\n" +
                           shortened(fallen, 40, style) + notes_on(result) + ideal_text(searched.plan));
  }
  return result.feasible.empty() ? ExitStatus::answer_no : ExitStatus::done;
}

std::vector<OptionSpec> search_command_options() {
  return point_options() + search_top_options() + choices_options() + output_options();
}

}  // namespace

Command search_command() {
  return {.name = "search",
          .summary = "find the fastest tile that fits, and say why other tiles cannot run",
          .usage = "--hardware ID [--kernel NAME | --schedule NAME] --q-len N ...",
          .examples = {"tilescope search --hardware a100_sxm_80 --schedule flash2 --heads 16 --q-len 4k --head-dim 128",
                       "tilescope search --hardware h200_sxm --schedule split-kv --workload llama3-70b-decode",
                       "tilescope search --hardware h200_sxm --kernel fused_mma --heads 16 --head-dim 128 --axis "
                       "q_len=128:16k:x2 --emit header -o tiles.h",
                       "tilescope search --hardware h200_sxm --schedule matmul --size a=4k,b=1k,c=4k"},
          .notes =
              "Tiles are ranked by predicted time that counts occupied SMs only (busy_microseconds). --format csv "
              "prints the feasible tiles. Exit status 1 when no tile can run.",
          .options = search_command_options,
          .run = search};
}

}  // namespace tilescope::cli
