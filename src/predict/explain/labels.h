// How rows of a table name the formats and tiles of a point.
#pragma once

#include <string>
#include <vector>

#include "predict/explain/json.h"
#include "predict/prediction.h"

namespace tilescope {

// Every format of the point: the one most arrays have, then each array that differs from it, as in "fp16" or
// "fp16;k=int8:g64:b2;v=int8:g64:b2". The log-sum-exp is named only when it is not fp32. No commas, so CSV needs no
// quotes.
std::string dtype_label(const Plan& plan, const Point& point, char separator = ',');

// What --tile would take to give this tile: "q=128,kv=64,pack=1,warps=4".
std::string tile_label(const Plan& plan, const Point& point);

// The sizes that a diagram defines, as --size takes them: "a=1024;b=64".
std::string sizes_label(const Diagram& diagram);

// A column "tile_NAME" for every parameter of the schedule, then "warps"; and the point's values for them.
std::vector<std::string> tile_columns(const Plan& plan);
std::vector<Json> tile_cells(const Plan& plan, const Point& point);

}  // namespace tilescope
