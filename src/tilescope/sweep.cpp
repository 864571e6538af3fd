#include "tilescope/sweep.h"

#include "request/sweep.h"
#include "tilescope/convert.h"

namespace tilescope::api {

Table sweep(const Options& options) {
  return answering([&] {
    const Sweep sweep = read_sweep(checked(options, point_options() + sweep_axis_options()));
    const std::vector<PredictionColumn> columns = columns_at(prediction_columns(sweep.plan), shown::csv);
    Table table;
    for (const PredictionColumn& column : columns) table.columns.push_back(column.key);
    const JsonOptions none;
    each_point(sweep,
               [&](const Point& point, const tilescope::Prediction* prediction, const std::vector<std::string>&) {
                 auto& row = table.rows.emplace_back();
                 for (const PredictionColumn& column : columns)
                   row.push_back(cell_of(cell(column, {sweep.plan, sweep.hardware, point, prediction, none})));
               });
    return table;
  });
}

}  // namespace tilescope::api
