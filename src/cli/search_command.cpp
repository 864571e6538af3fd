#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/best_tile.h"
#include "cli/cli.h"
#include "cli/help.h"
#include "cli/labels.h"
#include "search/search.h"

namespace tilescope::cli {
namespace {

Table best_table(const Plan& plan, const SearchResult& result, std::size_t most) {
  Table table{.title = "feasible tiles, best first", .columns = tile_columns(plan), .rows = {}};
  for (const char* column : {"microseconds", "bound_by", "hbm_bytes", "l2_bytes", "smem_bytes"}) table.columns.emplace_back(column);
  for (std::size_t i = 0; i < std::min(most, result.feasible.size()); ++i) {
    const Candidate& c = result.feasible[i];
    std::vector<Json> row = tile_cells(plan, c.point);
    row.insert(row.end(), {c.seconds * 1e6, to_string(c.bound_by), c.hbm_bytes, c.l2_bytes, c.smem_bytes});
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table fallen_table(const Plan& plan, const HardwareProfile& hardware, const SearchResult& result) {
  Table table{.title = "fell out", .columns = tile_columns(plan), .rows = {}};
  for (const char* column : {"level", "needed_bytes", "available_bytes", "too_many_bytes", "largest"}) table.columns.emplace_back(column);
  for (const FellOut& f : result.infeasible) {
    if (!f.runnable) {
      std::vector<Json> row = tile_cells(plan, f.point);
      row.insert(row.end(), {"tensor", nullptr, nullptr, nullptr, fmt::format("{} states no tensor rate for {}", hardware.id, dtype_label(plan, f.point))});
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
  const auto specs = point_options() + std::vector<OptionSpec>{{"top", "how many feasible tiles to print (default 10)"}} + output_options();
  if (help_wanted(words, "search --hardware ID [--kernel NAME | --schedule NAME] --q-len N ...", specs,
                  "  tilescope search --hardware a100_sxm_80 --schedule flash2 --heads 16 --q-len 4k --head-dim 128\n"))
    return ExitStatus::done;
  const Arguments arguments("search", words, specs, 0);
  const Plan plan = read_plan(arguments);
  const HardwareProfile hardware = read_hardware(arguments);
  Point point = read_point(arguments, plan);
  if (tile_given(arguments)) throw InputError(Diagnostic{.path = "--tile", .message = "search chooses the tile: leave it out, or ask tilescope predict about one tile"});
  settle_tile(plan, hardware, point, true);  // refuses what no tile would make work
  const SearchResult result = search_tiles(plan, hardware, point);
  const auto most = static_cast<std::size_t>(arguments.integer("top", 1, 100000).value_or(10));
  const Table best = best_table(plan, result, most), fallen = fallen_table(plan, hardware, result);
  const Format format = arguments.format();
  if (format == Format::json) {
    const Json json{{"schema", "tilescope/search/1"}, {"hardware", hardware.id}, {"feasible", Json::parse(render(best, format))},
                    {"infeasible", Json::parse(render(fallen, format))}};
    deliver(arguments, json.dump(2) + "\n");
  } else if (format == Format::csv) {
    deliver(arguments, render(best, format));
  } else {
    std::string out = render(best, format) + "\n" + render(fallen, format);
    if (result.unmeasured_rates) out += "\nnote: the profile lacks a rate, so the order ignores that resource; see tilescope predict\n";
    deliver(arguments, out);
  }
  return result.feasible.empty() ? ExitStatus::answer_no : ExitStatus::done;
}

}  // namespace tilescope::cli
