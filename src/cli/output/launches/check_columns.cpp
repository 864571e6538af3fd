#include "cli/output/launches/check_columns.h"

#include <fmt/format.h>

#include <cmath>

namespace tilescope::cli {

const Columns<launches::CheckedQuantity>& check_columns() {
  using R = launches::CheckedQuantity;
  static const Columns<R> columns{
      {{"quantity", "quantity", "", "What was counted, with its level and direction.", Origin::question},
       [](const R& r) { return r.quantity; }},
      {{"predicted", "predicted", "", "By the description: bytes or FLOP of one launch.", Origin::time_model},
       [](const R& r) { return r.predicted; }},
      {{"counted", "counted", "", "Median of the launches that were counted.", Origin::measured},
       [](const R& r) { return r.counted; }},
      {{"tolerance", "tolerance", "", "Relative difference that is allowed.", Origin::question},
       [](const R& r) { return r.tolerance; },
       [](const R& r) { return fmt::format("{:g} %", 100 * r.tolerance); }},
      {{"fits", "fits", "", "Whether the difference is within the tolerance.", Origin::measured},
       [](const R& r) { return r.fits; },
       [](const R& r) { return r.fits ? "yes" : "no"; }},
      {{"keys", "keys", "", "Keys of the description that decide the quantity, where it does not fit.",
        Origin::descriptor},
       [](const R& r) { return r.keys; }}};
  return columns;
}

ColumnList check_column_list() { return listed("check", "describe --check", check_columns()); }

}  // namespace tilescope::cli
