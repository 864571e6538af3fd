#include "tilescope/search.h"

#include "request/searched.h"
#include "tilescope/convert.h"

namespace tilescope::api {

Found search(const Options& options) {
  return answering([&] {
    const Json json = search_of(checked(options, point_options() + search_top_options())).json();
    return Found{table_of(json.at("feasible")), table_of(json.at("infeasible")), json.dump(2)};
  });
}

}  // namespace tilescope::api
