#include "request/searched.h"

#include <algorithm>

#include "base/error.h"
#include "predict/point/support.h"
#include "request/best_tile.h"
#include "request/choose_kernel.h"
#include "request/option_specs.h"
#include "request/read_point.h"

namespace tilescope {
namespace {

std::vector<std::string> parameter_names(const Plan& plan) {
  std::vector<std::string> names;
  for (const Parameter& parameter : plan.schedule.parameters) names.push_back(parameter.name);
  return names;
}

// Every cell of the columns, as CSV has them.
template <class Row>
Json all_objects(const Columns<Row>& columns, const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows) {
    Json object;
    for (const Column<Row>& column : columns) object[column.key] = column.value(row);
    list.push_back(std::move(object));
  }
  return list;
}

}  // namespace

Columns<TileRow> Searched::best_columns() const { return tilescope::best_columns(parameter_names(plan)); }
Columns<FallenRow> Searched::fallen_columns() const { return tilescope::fallen_columns(parameter_names(plan)); }

std::vector<TileRow> Searched::best() const {
  std::vector<TileRow> rows;
  for (std::size_t i = 0; i < std::min(most, result.feasible.size()); ++i)
    rows.push_back({plan, hardware, result.feasible[i]});
  return rows;
}

std::vector<FallenRow> Searched::fallen() const {
  std::vector<FallenRow> rows;
  for (const FellOut& tile : result.infeasible) rows.push_back({plan, hardware, tile});
  return rows;
}

Json Searched::json() const {
  return {{"schema", "tilescope/search/1"},
          {"hardware", hardware.id},
          {"chosen", how.empty() ? Json(nullptr) : Json(how)},
          {"kernel", plan.assumed ? Json(nullptr) : Json(plan.kernel.name)},
          {"unsupported", outside},
          {"feasible", all_objects(best_columns(), best())},
          {"infeasible", all_objects(fallen_columns(), fallen())},
          {"points", result.feasible.size() + result.infeasible.size()},
          {"most_points", most_search_points},
          {"thinned", result.thinned}};
}

Searched search_of(const Options& options, const std::function<void(std::size_t done, std::size_t all)>& progress) {
  if (asks_for_choice(options.text("kernel"))) {
    const KernelChoice choice = choose_kernel(options);
    const Options open = options.without("kernel");
    if (choice.kernel.empty())
      return {.plan = read_plan(open), .hardware = read_hardware(open), .result = {}, .outside = choice.reasons};
    Searched searched = search_of(open.without("diagram").with("kernel", choice.kernel), progress);
    searched.how = choice.how;
    return searched;
  }
  Searched searched{.plan = read_plan(options), .hardware = read_hardware(options), .result = {}, .outside = {}};
  Point point = read_point(options, searched.plan);
  if (tile_given(options))
    refuse("--tile", "search chooses the tile: leave it out, or ask tilescope predict about one tile");
  refuse_unsupported(searched.plan, searched.hardware, point);  // refuses what no tile would make work
  searched.most = static_cast<std::size_t>(options.integer("top", 1, 100000).value_or(10));
  searched.outside = outside_shapes(searched.plan.kernel, searched.hardware, point.workload);
  if (!searched.outside.empty()) return searched;
  SearchOptions search = search_options(options, searched.plan);
  search.progress = progress, search.threads = threads_of(options);
  searched.result = search_tiles(searched.plan, searched.hardware, point, search);
  return searched;
}

}  // namespace tilescope
