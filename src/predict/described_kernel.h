// What tests of described kernels share: a kernel from the lines of its descriptor, and what is predicted of it.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "predict/predict.h"

namespace tilescope {

inline HardwareProfile h200() { return find_profile("h200_sxm", fmt::format("{}/hardware", TILESCOPE_SOURCE_DIR)); }

inline Plan plan_of(const std::string& yaml) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("tilescope_products_{}.yaml", ::getpid());
  std::ofstream(file) << "schema: tilescope/kernel/1\nkernel: described\nsummary: a kernel of this test\n" << yaml;
  const Plan plan = load_plan_for_kernel(file.string(), TILESCOPE_SOURCE_DIR);
  std::filesystem::remove(file);
  return plan;
}

inline Point point_of(const Plan& plan, const Workload& workload, std::size_t variant = 0) {
  Point point = default_point(plan);
  point.workload = workload;
  if (!plan.kernel.formats.empty()) set_formats(point, plan.schedule.diagram, plan.kernel.formats.front());
  take_variant(point, plan.schedule, plan.kernel.variants.at(variant));
  return point;
}

inline Prediction predicted(const Plan& plan, const Point& point) {
  Prediction prediction;
  predict(plan, h200(), point, prediction);
  return prediction;
}

// Bytes of one array at one boundary, one way and for one cause.
inline std::int64_t bytes_of_terms(const Plan& plan, const Prediction& prediction, const std::string& array,
                                   Boundary boundary, Direction direction, Cause cause) {
  std::int64_t bytes = 0;
  for (const Term& term : prediction.terms)
    if (term.array >= 0 && plan.schedule.diagram.arrays[static_cast<std::size_t>(term.array)].name == array &&
        term.boundary == boundary && term.direction == direction && term.cause == cause)
      bytes += term.bytes;
  return bytes;
}

}  // namespace tilescope
