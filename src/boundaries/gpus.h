// GPUs compared by the theory: a term alpha * M^-beta of H*(M) takes alpha * M^-beta / H, so H * M^beta says how
// good a level is for it (Napkin, arXiv 2412.03317, section 5.1; theory 2.2).
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/page_section.h"
#include "boundaries/kernels.h"
#include "boundaries/rates.h"

namespace tilescope {

// One GPU at one boundary for one exponent.
struct GpuMerit {
  std::string boundary, hardware;
  double beta = 0;
  double memory_values = 0;
  BoundaryRate rate{};
  double merit = 0;     // H * M^beta: values a second times values^beta
  double to_first = 0;  // the same, divided by that of the first GPU at this boundary with a rate of this kind
};

// Rows by boundary, kind of rate (measured, published), exponent, GPU. A GPU without such a rate has no row, and one
// that is the only one to have it neither. A value
// takes `value_bytes`.
std::vector<GpuMerit> gpu_merits(const PowerLaw& law, std::span<const HardwareProfile> gpus, double value_bytes);

PageSection gpus_section(const BoundSchedule& schedule, const std::vector<GpuMerit>& merits, double value_bytes);
nlohmann::ordered_json gpus_json(const BoundSchedule& schedule, const std::vector<GpuMerit>& merits);

}  // namespace tilescope
