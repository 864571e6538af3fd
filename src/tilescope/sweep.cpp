#include "tilescope/sweep.h"

#include "base/text.h"
#include "request/sweep.h"
#include "tilescope/convert.h"

namespace tilescope::api {

Table sweep(const Options& options) {
  return answering([&] {
    const Sweep sweep = read_sweep(checked(options, point_options() + sweep_axis_options()));
    const std::vector<PredictionColumn> columns = columns_at(prediction_columns(sweep.tiles()), shown::csv);
    Table table;
    for (const PredictionColumn& column : columns) table.columns.push_back(column.key);
    const JsonOptions none;
    each_point(sweep, [&](const Sweep& of, const Point& point, const tilescope::Prediction* prediction,
                          const std::vector<std::string>& unsupported) {
      auto& row = table.rows.emplace_back();
      for (const PredictionColumn& column : columns)
        row.push_back(cell_of(cell(column, {of.plan, of.hardware, point, prediction, none,
                                            of.chosen_by.empty() ? "" : join(unsupported, "; ")})));
    });
    return table;
  });
}

}  // namespace tilescope::api
