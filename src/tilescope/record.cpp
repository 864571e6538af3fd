#include "tilescope/record.h"

#include "base/data_directory.h"
#include "compare/recorded.h"
#include "tilescope/convert.h"

namespace tilescope::api {

Table compare_records(const std::string& path) {
  return answering([&] {
    Table table{.columns = {"point", "hardware", "kernel", "quantity", "level", "direction", "predicted", "measured",
                            "tolerance", "verdict"},
                .rows = {}};
    for (const ComparisonRow& row : compare_recorded(path, data_directory(), Keep::rows).rows)
      table.rows.push_back({row.point, row.hardware, row.kernel, row.quantity, row.level, row.direction, row.predicted,
                            row.measured, row.tolerance ? Cell(*row.tolerance) : Cell(), to_string(row.verdict)});
    return table;
  });
}

}  // namespace tilescope::api
