#include "request/sweep/columns.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tilescope {
namespace {

// Columns that only an axis changes, and what its name begins with.
struct ColumnOfAxis {
  std::string_view column, axis;
};
constexpr std::array<ColumnOfAxis, 3> columns_of_axes{{{"diagram", "diagram="}, {"sizes", "size."}, {"l2", "l2="}}};

}  // namespace

std::vector<PredictionColumn> without_idle(std::vector<PredictionColumn> columns, const Options& options) {
  const std::vector<std::string> axes = options.all("axis");
  std::erase_if(columns, [&](const PredictionColumn& column) {
    const auto found = std::find_if(columns_of_axes.begin(), columns_of_axes.end(),
                                    [&](const ColumnOfAxis& each) { return each.column == column.key; });
    return found != columns_of_axes.end() && std::none_of(axes.begin(), axes.end(), [&](const std::string& axis) {
             return axis.starts_with(found->axis);
           });
  });
  return columns;
}

}  // namespace tilescope
