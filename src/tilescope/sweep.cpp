#include "tilescope/sweep.h"

#include "base/parallel.h"
#include "request/option_specs.h"
#include "request/sweep/columns.h"
#include "request/sweep/grid.h"
#include "tilescope/convert.h"

namespace tilescope::api {

Table sweep(const Options& options) {
  return answering([&] {
    const tilescope::Options read =
        checked(options, point_options() + sweep_axis_options() + std::vector<OptionSpec>{threads_option()});
    const SweepGrid grid(read.without("threads"));
    const std::size_t threads = threads_of(read);
    const std::vector<PredictionColumn> columns =
        without_idle(columns_at(prediction_columns(grid.tiles()), shown::csv), read);
    Table table;
    for (const PredictionColumn& column : columns) table.columns.push_back(column.key);
    std::vector<std::vector<std::vector<Cell>>> slots(slots_of(threads));
    grid.each_point(
        {.places = {0, grid.size()}, .threads = threads, .progress = {}},
        [&](std::size_t slot, const SweptPoint& point) {
          auto& row = slots[slot].emplace_back();
          for (const PredictionColumn& column : columns) row.push_back(cell_of(cell(column, point.row())));
        },
        [&](std::size_t slot) {
          for (auto& row : slots[slot]) table.rows.push_back(std::move(row));
          slots[slot].clear();
        });
    return table;
  });
}

}  // namespace tilescope::api
