#include "analysis/family/family.h"

#include "analysis/family/points.h"

namespace tilescope::analysis {

FamilyPage family_of(const Comparison& comparison, const HardwareProfile& hardware, const std::string& revision,
                     const std::string& date) {
  std::vector<FamilyPoint> points;
  for (const ComparedPoint& compared : comparison.points) points.push_back(family_point(compared, hardware));
  return {.title = "The kernel family on " + hardware.name,
          .generated = date,
          .revision = revision,
          .hardware = {.id = hardware.id, .name = hardware.name, .chip = hardware.chip},
          .points = static_cast<double>(points.size()),
          .rows = family_rows(points, comparison, hardware),
          .ladders = family_ladders(points, hardware)};
}

}  // namespace tilescope::analysis
