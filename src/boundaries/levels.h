// The derivation at every memory boundary of a GPU. Each boundary has its own best schedule and tiles; the costs of
// the boundaries add up (Napkin, arXiv 2412.03317, section 5.1).
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/page_section.h"
#include "derive/derivation.h"
#include "hardware/profile.h"

namespace tilescope {

struct BoundaryOptimum {
  std::string boundary, memory;            // "hbm -> l2"; what the memory inside it is
  double memory_values = 0;                // its capacity
  std::optional<double> bytes_per_second;  // across the boundary, whole device; empty: the profile lacks it
  bool found = false;                      // a schedule fits; else what follows is empty
  std::vector<std::string> names;          // of the best schedule
  std::vector<std::string> kernels;        // loops and tiles, a text a kernel
  double traffic_values = 0;
  std::optional<double> seconds;  // of the traffic at the boundary's bandwidth
};

// One optimum for each boundary whose capacity the profile states, outermost first. A value takes `value_bytes`.
std::vector<BoundaryOptimum> boundary_optima(const DeriveRequest& request,
                                             const std::filesystem::path& models_directory,
                                             const HardwareProfile& hardware, double value_bytes);

// The optima as a table, and the sum of their times.
PageSection levels_section(const std::vector<BoundaryOptimum>& optima, const std::string& hardware_id,
                           double value_bytes);
nlohmann::ordered_json levels_json(const std::vector<BoundaryOptimum>& optima);

}  // namespace tilescope
