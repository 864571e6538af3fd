#include "tilescope/compare.h"

#include "request/compared.h"
#include "tilescope/convert.h"

namespace tilescope::api {

Table compare(const Options& options) {
  return answering([&] {
    Table table{.columns = compared_keys(), .rows = {}};
    for (const std::vector<Json>& row : compared(checked(options, compare_options())).rows) {
      auto& cells = table.rows.emplace_back();
      for (const Json& value : row) cells.push_back(cell_of(value));
    }
    return table;
  });
}

}  // namespace tilescope::api
