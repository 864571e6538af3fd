// Every number that predict, sweep and compare print about one point: a row of this table each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "predict/explain/column.h"
#include "predict/explain/prediction_json.h"

namespace tilescope {

// A point and what was predicted of it.
struct PredictedPoint {
  const Plan& plan;
  const HardwareProfile& hardware;
  const Point& point;
  const Prediction* prediction = nullptr;  // null: the kernel does not support the point
  const JsonOptions& options;              // the recorded errors
  std::string outside = {};                // why nothing is predicted, where the descriptor's shapes are not the reason
};

// Why a point has no time: outside the kernel's shapes, a memory that is too small, no rate. Empty: it has one.
std::string no_time_reason(const PredictedPoint& row);

// Where a quantity is printed; a quantity may be printed in several places.
namespace shown {
inline constexpr unsigned json_head = 128, json_top = 1, json_work = 2, json_time = 4;  // keys of the prediction's JSON
inline constexpr unsigned csv = 8;                                                      // predict --format csv, sweep
inline constexpr unsigned compare = 16;                                                 // compare, in every format
inline constexpr unsigned work_text = 32, time_text = 64;  // lists of predict's text and Markdown
}  // namespace shown

// What a value needs: where it is missing, CSV and compare leave the cell empty.
enum class Needs { nothing, prediction, feasible };

struct PredictionColumn : Column<PredictedPoint> {
  unsigned where = 0;  // of `shown`
  Needs needs = Needs::prediction;
  Wanted wanted = Wanted::times;  // what of a prediction its value is read from
};

// What of predictions these columns are read from.
Wanted wanted_of(const std::vector<PredictionColumn>& columns);

// The table. `tiles` are the schedule's tile parameters, which have a column each.
std::vector<PredictionColumn> prediction_columns(const std::vector<std::string>& tiles);
std::vector<PredictionColumn> prediction_columns(const Plan& plan);

// The columns of one place, in the table's order.
std::vector<PredictionColumn> columns_at(const std::vector<PredictionColumn>& columns, unsigned where);

// The value, or null where what it needs is missing.
Json cell(const PredictionColumn& column, const PredictedPoint& row);

// Adds "key": value to `object` for each column of the place.
void add_fields(Json& object, const std::vector<PredictionColumn>& columns, unsigned where, const PredictedPoint& row);

}  // namespace tilescope
