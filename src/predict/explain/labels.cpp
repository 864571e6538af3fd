#include "predict/explain/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/contains.h"
#include "base/text.h"

namespace tilescope {

std::string dtype_label(const Plan& plan, const Point& point, char separator) {
  const Diagram& diagram = plan.schedule.diagram;
  Point plain = default_point(plan);
  std::size_t most = 0;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    Point candidate = default_point(plan);
    set_dtype(candidate, diagram, "", point.dtypes[i]);
    std::size_t same = 0;
    for (std::size_t j = 0; j < diagram.arrays.size(); ++j) same += point.dtypes[j] == candidate.dtypes[j];
    if (same > most) most = same, plain = candidate;
  }
  std::string label = to_string(plain.dtypes[0]);
  std::set<std::string> named;  // several arrays may take one key
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i)
    if (point.dtypes[i] != plain.dtypes[i] && named.insert(diagram.arrays[i].dtype_key).second)
      label += fmt::format("{}{}={}", separator, diagram.arrays[i].dtype_key, to_string(point.dtypes[i]));
  return label;
}

std::string sizes_label(const Diagram& diagram) {
  std::vector<std::string> sizes;
  for (const Axis& axis : diagram.axes)
    if (const std::string size = fmt::format("{}={}", axis.size, axis.length);
        !axis.extent && !axis.chunks_of && !contains(sizes, size))
      sizes.push_back(size);
  return join(sizes, ";");
}

std::string tile_label(const Plan& plan, const Point& point) {
  std::string label;
  for (std::size_t i = 0; i < plan.schedule.parameters.size(); ++i)
    label += fmt::format("{}={},", plan.schedule.parameters[i].name, point.tiles[i]);
  return label +
         fmt::format("warps={}{}", point.warps, point.stages > 0 ? fmt::format(",stages={}", point.stages) : "");
}

std::vector<std::string> tile_columns(const Plan& plan) {
  std::vector<std::string> columns;
  for (const Parameter& parameter : plan.schedule.parameters) columns.push_back("tile_" + parameter.name);
  columns.push_back("warps");
  return columns;
}

std::vector<Json> tile_cells(const Plan& plan, const Point& point) {
  std::vector<Json> cells;
  for (std::size_t i = 0; i < plan.schedule.parameters.size(); ++i) cells.push_back(point.tiles[i]);
  cells.push_back(point.warps);
  return cells;
}

}  // namespace tilescope
