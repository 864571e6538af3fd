#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/input/best_tile.h"
#include "cli/output/help.h"
#include "cli/output/labels.h"
#include "search/search.h"

namespace tilescope::cli {
namespace {

Table best_table(const Plan& plan, const SearchResult& result, std::size_t most) {
  Table table{.title = "feasible tiles, best first", .columns = tile_columns(plan), .rows = {}};
  for (const char* column : {"microseconds", "busy_microseconds", "bound_by", "hbm_bytes", "l2_bytes", "smem_bytes"})
    table.columns.emplace_back(column);
  for (std::size_t i = 0; i < std::min(most, result.feasible.size()); ++i) {
    const Candidate& c = result.feasible[i];
    std::vector<Json> row = tile_cells(plan, c.point);
    row.insert(row.end(),
               {c.seconds * 1e6, c.busy_seconds * 1e6, to_string(c.bound_by), c.hbm_bytes, c.l2_bytes, c.smem_bytes});
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Progress on a terminal, one line that is overwritten.
SearchOptions with_progress(SearchOptions options, bool quiet) {
  if (quiet || !::isatty(STDERR_FILENO)) return options;
  options.progress = [](std::size_t done, std::size_t all) {
    if (done % 1024 == 0 || done == all)
      std::cerr << fmt::format("\r{} of {} points{}", done, all, done == all ? "\n" : "") << std::flush;
  };
  return options;
}

// Text for people: the first rows, and how many more there are.
std::string shortened(Table table, std::size_t most, OutputFormat format) {
  const std::size_t all = table.rows.size();
  if (all > most) table.rows.resize(most);
  return render(table, format) +
         (all > most ? fmt::format("and {} more; --format json lists them all\n", all - most) : "");
}

Table fallen_table(const Plan& plan, const HardwareProfile& hardware, const SearchResult& result) {
  Table table{.title = "fell out", .columns = tile_columns(plan), .rows = {}};
  for (const char* column : {"level", "needed_bytes", "available_bytes", "too_many_bytes", "largest"})
    table.columns.emplace_back(column);
  for (const FellOut& f : result.infeasible) {
    if (!f.runnable) {
      std::vector<Json> row = tile_cells(plan, f.point);
      row.insert(row.end(), {"tensor", nullptr, nullptr, nullptr,
                             fmt::format("{} states no tensor rate for {}", hardware.id, dtype_label(plan, f.point))});
      table.rows.push_back(std::move(row));
      continue;
    }
    const auto available = static_cast<std::int64_t>(f.row.capacity_bytes);
    std::vector<Json> row = tile_cells(plan, f.point);
    row.insert(row.end(), {to_string(f.row.level), f.row.bytes, available, f.row.bytes - available, f.row.largest});
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

ExitStatus search_command(const std::vector<std::string>& words) {
  const auto specs = point_options() +
                     std::vector<OptionSpec>{{"top", "how many feasible tiles to print (default 10)"}} +
                     output_options();
  if (help_wanted(words, "search --hardware ID [--kernel NAME | --schedule NAME] --q-len N ...", specs,
                  "  tilescope search --hardware a100_sxm_80 --schedule flash2 --heads 16 --q-len 4k --head-dim 128\n"
                  "  tilescope search --hardware h200_sxm --schedule split-kv --workload llama3-70b-decode\n"
                  "  tilescope search --hardware h200_sxm --schedule matmul --size a=4k,b=1k,c=4k\n"
                  "Tiles are ranked by the predicted time with only the units busy that have a block.\n"))
    return ExitStatus::done;
  const Arguments arguments("search", words, specs, 0);
  const Plan plan = read_plan(arguments);
  const HardwareProfile hardware = read_hardware(arguments);
  Point point = read_point(arguments, plan);
  if (tile_given(arguments))
    throw InputError(Diagnostic{
        .path = "--tile", .message = "search chooses the tile: leave it out, or ask tilescope predict about one tile"});
  settle_tile(plan, hardware, point, true);  // refuses what no tile would make work
  const SearchResult result =
      search_tiles(plan, hardware, point, with_progress(search_options(arguments, plan), arguments.quiet()));
  const auto most = static_cast<std::size_t>(arguments.integer("top", 1, 100000).value_or(10));
  const Table best = best_table(plan, result, most), fallen = fallen_table(plan, hardware, result);
  const OutputFormat format = arguments.format();
  if (format == OutputFormat::json) {
    const Json json{{"schema", "tilescope/search/1"},
                    {"hardware", hardware.id},
                    {"feasible", Json::parse(render(best, format))},
                    {"infeasible", Json::parse(render(fallen, format))},
                    {"points", result.feasible.size() + result.infeasible.size()},
                    {"most_points", most_search_points},
                    {"thinned", result.thinned}};
    deliver(arguments, json.dump(2) + "\n");
  } else if (format == OutputFormat::csv) {
    deliver(arguments, render(best, format));
  } else {
    std::string out = render(best, format) + "\n" + shortened(fallen, 40, format);
    if (result.thinned)
      out += fmt::format("\nnote: some sizes were left out to try at most {} points\n",
                         with_thousands(static_cast<long long>(most_search_points)));
    if (result.unmeasured_rates)
      out += "\nnote: the profile lacks a rate, so the order ignores that resource; see tilescope predict\n";
    deliver(arguments, out);
  }
  return result.feasible.empty() ? ExitStatus::answer_no : ExitStatus::done;
}

}  // namespace tilescope::cli
