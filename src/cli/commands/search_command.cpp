#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/commands/search_columns.h"
#include "cli/input/best_tile.h"
#include "cli/output/prediction_text.h"
#include "cli/output/progress.h"
#include "predict/explain/labels.h"
#include "search/search.h"

namespace tilescope::cli {
namespace {

std::vector<std::string> parameter_names(const Plan& plan) {
  std::vector<std::string> names;
  for (const Parameter& parameter : plan.schedule.parameters) names.push_back(parameter.name);
  return names;
}

template <class Row, class Tile>
Table tiles_table(const std::string& title, const Columns<Row>& columns, const Plan& plan,
                  const HardwareProfile& hardware, const std::vector<Tile>& tiles, std::size_t most) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < std::min(most, tiles.size()); ++i) rows.push_back({plan, hardware, tiles[i]});
  return table_of(title, columns, rows);
}

// Text for people: the first rows, and how many more there are.
std::string shortened(Table table, std::size_t most, const Style& style) {
  const std::size_t all = table.rows.size();
  if (all > most) table.rows.resize(most);
  return render(table, style) +
         (all > most ? fmt::format("and {} more; --format json lists them all\n", all - most) : "");
}

std::string notes_on(const SearchResult& result) {
  std::string out;
  if (result.thinned)
    out += fmt::format("\nnote: some sizes were left out to try at most {} points\n",
                       with_thousands(static_cast<long long>(most_search_points)));
  if (result.unmeasured_rates)
    out += "\nnote: the profile lacks a rate, so the order ignores that resource; see tilescope predict\n";
  return out;
}

ExitStatus search(const Arguments& arguments) {
  const Plan plan = read_plan(arguments);
  const HardwareProfile hardware = read_hardware(arguments);
  Point point = read_point(arguments, plan);
  if (tile_given(arguments))
    refuse("--tile", "search chooses the tile: leave it out, or ask tilescope predict about one tile");
  settle_tile(plan, hardware, point, true);  // refuses what no tile would make work
  const auto most = static_cast<std::size_t>(arguments.integer("top", 1, 100000).value_or(10));
  SearchOptions options = search_options(arguments, plan);
  SearchResult result;
  {
    Progress progress(arguments, "search");
    options.progress = progress.callback();
    result = search_tiles(plan, hardware, point, options);
  }
  const auto tiles = parameter_names(plan);
  const Table best =
      tiles_table("feasible tiles, best first", best_columns(tiles), plan, hardware, result.feasible, most);
  const Table fallen =
      tiles_table("fell out", fallen_columns(tiles), plan, hardware, result.infeasible, result.infeasible.size());
  const Style style = style_of(arguments);
  if (style.format == OutputFormat::json) {
    const Json json{{"schema", "tilescope/search/1"},
                    {"hardware", hardware.id},
                    {"feasible", Json::parse(render(best, style))},
                    {"infeasible", Json::parse(render(fallen, style))},
                    {"points", result.feasible.size() + result.infeasible.size()},
                    {"most_points", most_search_points},
                    {"thinned", result.thinned}};
    deliver(arguments, json.dump(2) + "\n");
  } else if (style.format == OutputFormat::csv) {
    deliver(arguments, render(best, style));
  } else {
    deliver(arguments, render(best, style) + "\n" + shortened(fallen, 40, style) + notes_on(result));
  }
  return result.feasible.empty() ? ExitStatus::answer_no : ExitStatus::done;
}

std::vector<OptionSpec> search_command_options() {
  return point_options() +
         std::vector<OptionSpec>{{"top", "how many feasible tiles to print (default 10)", Value::count}} +
         output_options();
}

}  // namespace

Command search_command() {
  return {.name = "search",
          .summary = "the best tiling under the capacities, and why the others fell out",
          .usage = "--hardware ID [--kernel NAME | --schedule NAME] --q-len N ...",
          .examples = {"tilescope search --hardware a100_sxm_80 --schedule flash2 --heads 16 --q-len 4k --head-dim 128",
                       "tilescope search --hardware h200_sxm --schedule split-kv --workload llama3-70b-decode",
                       "tilescope search --hardware h200_sxm --schedule matmul --size a=4k,b=1k,c=4k"},
          .notes =
              "Tiles are ranked by predicted time that counts occupied SMs only (busy_microseconds). --format csv "
              "prints the feasible tiles. Exit status 1 when no tile can run.",
          .options = search_command_options,
          .run = search};
}

}  // namespace tilescope::cli
