// The page's charts as Vega-Lite specifications. Colours are CSS custom properties ("var(--hbm)"), so that light,
// dark and print are one style sheet and a chart follows at once. A null result means there is nothing to draw.
//
// Two data sets are the page's own and stand in it once: "points" {id, label, kernel, dtype} and "rows", the comparison
// with its numbers as text {label, kernel, name, ratio, verdict, error, predicted_text, measured_text, tolerance_text}.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/model.h"

namespace tilescope::report {

// $schema, description, width of the container, background and theme: what every chart shares.
nlohmann::json chart_base(const std::string& description, int height);

// Log-log: the roofs of every memory level, the compute peaks, and each point once a level, predicted joined to
// measured. Params: dtype, level, kernel. Flop per byte is the point's FLOP over the bytes at that level.
nlohmann::json roofline_chart(const Report& report);
std::vector<std::string> roofline_dtypes(const Report& report);  // most frequent first

// Bars of one level for the point chosen by the param `point`: predicted and measured, read and write.
nlohmann::json traffic_chart(const Report& report, const std::string& level);
std::vector<std::string> traffic_levels(const Report& report);  // outermost first

// One strip a quantity: predicted / measured - 1 of every point on a symmetric-log axis, with the tolerance band.
// Param: kernel.
nlohmann::json error_chart(const Report& report);

// Heat map over tile_q x tile_kv of the metric chosen by the param `metric`; crosses where a tile does not fit.
nlohmann::json tile_chart(const Report& report);

// The pictures of accuracy. Values of their controls: kEverything filters nothing, kOurs and kTheirs name groups of
// kernels.

// One row a record: predicted time as shares of the measured one (what the busiest unit takes, what it waits for,
// multiprocessors without a block, launches), and a mark at what each unit would take alone. Param `kernel`: a group
// shows the longest record of each of its kernels.
nlohmann::json split_chart(const Report& report);

// Read and written DRAM bytes of one series over length: predicted, measured, compulsory, and without a cache.
nlohmann::json length_chart(const LengthSeries& series);

// Predicted / measured - 1 of one quantity over its measured size, every record a mark, with the stated error bars. Its
// data set "records" is the page's own, from residual_data. Param: kernel.
nlohmann::json residual_chart(const Report& report, const std::string& quantity);
nlohmann::json residual_data(const Report& report);  // {columns: [...], rows: [[...]]}

// Predicted beside measured, a row a kernel: the SM clock, and the board's power with its limit.
nlohmann::json clock_chart(const Report& report);
nlohmann::json power_chart(const Report& report);

}  // namespace tilescope::report
