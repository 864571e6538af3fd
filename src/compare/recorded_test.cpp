#include "compare/recorded.h"

#include <doctest/doctest.h>

#include "base/error.h"

namespace tilescope {

TEST_CASE("a report covers the GPU with the most records; without records it is refused") {
  Comparison comparison;
  CHECK_THROWS_WITH_AS(hardware_with_most_records(comparison), doctest::Contains("no record"), InputError);
  for (const char* hardware : {"l4", "h200_sxm", "h200_sxm"}) {
    comparison.points.emplace_back();
    comparison.points.back().record.environment.hardware = hardware;
  }
  CHECK(hardware_with_most_records(comparison) == "h200_sxm");
}

}  // namespace tilescope
