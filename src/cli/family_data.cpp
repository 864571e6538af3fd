#include "cli/family_data.h"

#include <fmt/format.h>

#include "cli/family.h"

namespace tilescope::cli {

Json family_data(const Comparison& comparison, const HardwareProfile& hardware, const std::string& revision,
                 const std::string& date) {
  std::vector<FamilyPoint> points;
  for (const ComparedPoint& compared : comparison.points) points.push_back(family_point(compared, hardware));
  return {{"schema", "tilescope/family/1"},
          {"title", "The kernel family on " + hardware.name},
          {"generated", date},
          {"revision", revision},
          {"hardware", {{"id", hardware.id}, {"name", hardware.name}, {"chip", hardware.chip}}},
          {"points", points.size()},
          {"kernels", family_rows(points, comparison, hardware)},
          {"ladders", family_ladders(points, hardware)}};
}

}  // namespace tilescope::cli
