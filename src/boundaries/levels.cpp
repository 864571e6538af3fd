#include "boundaries/levels.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "boundaries/rates.h"

namespace tilescope {
namespace {

std::string kernel_text(const Derivation& derivation, const RankedKernel& kernel) {
  std::string text = to_text(derivation.primitives.diagram, kernel.loops);
  for (std::size_t i = 0; i < kernel.best.tiles.size(); ++i)
    text +=
        fmt::format(" {}={:.0f}", kernel.problem.symbolic.symbols[kernel.problem.tiles[i]].text, kernel.best.tiles[i]);
  return text;
}

}  // namespace

std::vector<BoundaryOptimum> boundary_optima(const DeriveRequest& request,
                                             const std::filesystem::path& models_directory,
                                             const HardwareProfile& hardware, double value_bytes) {
  std::vector<BoundaryOptimum> optima;
  for (const BoundaryMemory& boundary : boundaries_of(hardware)) {
    DeriveRequest here = request;
    here.memory = std::floor(boundary.bytes / value_bytes), here.widths.clear(), here.ranked = 1;
    const Derivation derivation = derive(here, models_directory);
    BoundaryOptimum& optimum = optima.emplace_back();
    optimum.boundary = boundary.name, optimum.memory = boundary.what;
    optimum.memory_values = here.memory;
    if (!boundary.rates.empty()) optimum.bytes_per_second = boundary.rates.front().bytes_per_second;
    if (derivation.ranked.empty()) continue;
    const RankedFusion& best = derivation.ranked.front();
    optimum.found = true, optimum.names = best.names, optimum.traffic_values = best.traffic;
    for (const RankedKernel& kernel : best.kernels) optimum.kernels.push_back(kernel_text(derivation, kernel));
    if (optimum.bytes_per_second) optimum.seconds = best.traffic * value_bytes / *optimum.bytes_per_second;
  }
  return optima;
}

PageSection levels_section(const std::vector<BoundaryOptimum>& optima, const std::string& hardware_id,
                           double value_bytes) {
  PageSection section{.heading = "Level by level on " + hardware_id};
  section.paragraphs.push_back(
      fmt::format("Each boundary has its own best schedule and tiles; costs add up, so pairs of nests need not be "
                  "tried together. Values of {:g} bytes.",
                  value_bytes));
  PageTable table{.columns = {"boundary", "memory", "values", "best", "loops and tiles", "traffic", "microseconds"}};
  double total = 0;
  bool complete = true;
  for (const BoundaryOptimum& optimum : optima) {
    std::vector<std::string> row{optimum.boundary, optimum.memory, with_thousands(std::llround(optimum.memory_values))};
    if (optimum.found)
      row.insert(row.end(), {join(optimum.names, ", "), join(optimum.kernels, "; then "),
                             with_thousands(std::llround(optimum.traffic_values)),
                             optimum.seconds ? fmt::format("{:.1f}", *optimum.seconds * 1e6) : "bandwidth unknown"});
    else row.insert(row.end(), {"nothing fits", "", "", ""});
    total += optimum.seconds.value_or(0), complete = complete && optimum.seconds;
    table.rows.push_back(std::move(row));
  }
  section.tables.push_back(std::move(table));
  section.paragraphs.push_back(
      fmt::format("Weighted sum over levels: {:.1f} microseconds of transfers if none overlaps{}.", total * 1e6,
                  complete ? "" : ", without the boundaries whose rate is unknown"));
  return section;
}

nlohmann::ordered_json levels_json(const std::vector<BoundaryOptimum>& optima) {
  using Json = nlohmann::ordered_json;
  Json rows = Json::array();
  for (const BoundaryOptimum& optimum : optima) {
    Json row{{"boundary", optimum.boundary}, {"memory", optimum.memory}, {"memory_values", optimum.memory_values}};
    row["bytes_per_second"] = optimum.bytes_per_second ? Json(*optimum.bytes_per_second) : Json();
    if (optimum.found)
      row.update({{"names", optimum.names}, {"kernels", optimum.kernels}, {"traffic_values", optimum.traffic_values}});
    row["seconds"] = optimum.seconds ? Json(*optimum.seconds) : Json();
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tilescope
