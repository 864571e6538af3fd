// The page's charts as Vega-Lite specifications. Colours are CSS custom properties ("var(--hbm)"), so that light,
// dark and print are one style sheet and a chart follows at once. A null result means there is nothing to draw.
//
// Two data sets are the page's own and stand in it once: "points" {key, id, label, kernel, dtype, gpu, tile, times} and
// "rows", the comparison with its numbers as text {label, kernel, name, ratio, verdict, error, predicted_text,
// measured_text, tolerance_text}.
#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/charts/roofline_data.h"
#include "report/model.h"

namespace tilescope::report {

// $schema, description, width of the container, background and theme: what every chart shares.
nlohmann::json chart_base(const std::string& description, int height);

// Log-log: the roofs of every memory level, the compute peaks, and each point once a level, predicted joined to
// measured. Params: level, kernel, point (ringed), hovered (others fade). All panels of a report share their axes.
nlohmann::json roofline_chart(const Report& report, const RooflinePanel& panel, const RooflineFrame& frame);
std::string panel_title(const RooflinePanel& panel);  // "H200 SXM, fp16"

// Bars of one level for the point chosen by the param `point`: predicted and measured, read and write.
nlohmann::json traffic_chart(const Report& report, const std::string& level);
std::vector<std::string> traffic_levels(const Report& report);  // outermost first

// Parts of the predicted time, and what 10 % more of one thing would save, for the point chosen by the param `point`.
nlohmann::json time_chart(const Report& report);
nlohmann::json gain_chart(const Report& report);

// One strip a quantity: predicted / measured - 1 of every point on a symmetric-log axis, with the tolerance band.
// Param: kernel.
nlohmann::json error_chart(const Report& report);

// Heat map over tile_q x tile_kv of the metric chosen by the param `metric`; crosses where a tile does not fit.
nlohmann::json tile_chart(const Report& report);

// The pictures of accuracy. Values of their controls: kEverything filters nothing, kOurs and kTheirs name groups of
// kernels.

// Read and written DRAM bytes of one series over length: predicted, measured, compulsory, and without a cache.
// All series of a page share their axes.
struct LengthFrame {
  double shortest = std::numeric_limits<double>::infinity(), longest = 0;  // keys
  double least = std::numeric_limits<double>::infinity(), most = 0;        // bytes
};
LengthFrame length_frame(const Pictures& pictures);
nlohmann::json length_chart(const LengthSeries& series, const LengthFrame& frame);

// Predicted / measured - 1 of one quantity over its measured size, every record a mark, with the stated error bars. Its
// data set "records" is the page's own, from residual_data. Param: kernel.
nlohmann::json residual_chart(const Report& report, const std::string& quantity);
nlohmann::json residual_data(const Report& report);  // {columns: [...], rows: [[...]]}

// Predicted beside measured, a row a kernel: the SM clock, and the board's power with its limit.
nlohmann::json clock_chart(const Report& report);
nlohmann::json power_chart(const Report& report);

}  // namespace tilescope::report
