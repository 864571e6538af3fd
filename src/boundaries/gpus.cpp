#include "boundaries/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/contains.h"
#include "base/text.h"
#include "optimum/levels.h"

namespace tilescope {
namespace {

std::vector<std::string> boundary_names(std::span<const HardwareProfile> gpus) {
  std::vector<std::string> names;
  for (const HardwareProfile& gpu : gpus)
    for (const BoundaryMemory& boundary : boundaries_of(gpu))
      if (!contains(names, boundary.name)) names.push_back(boundary.name);
  return names;
}

void add_rows(const std::string& name, bool measured, double beta, std::span<const HardwareProfile> gpus,
              double value_bytes, std::vector<GpuMerit>& rows) {
  const std::size_t before = rows.size();
  double first = 0;
  for (const HardwareProfile& gpu : gpus)
    for (const BoundaryMemory& boundary : boundaries_of(gpu)) {
      if (boundary.name != name) continue;
      for (const BoundaryRate& rate : boundary.rates) {
        if (rate.measured != measured) continue;
        const double values = std::floor(boundary.bytes / value_bytes);
        const double merit = figure_of_merit({name, values, value_bytes / rate.bytes_per_second}, beta);
        if (first == 0) first = merit;
        rows.push_back({name, gpu.id, beta, values, rate, merit, merit / first});
      }
    }
  if (rows.size() == before + 1) rows.pop_back();  // one GPU alone is not compared
}

}  // namespace

std::vector<GpuMerit> gpu_merits(const PowerLaw& law, std::span<const HardwareProfile> gpus, double value_bytes) {
  std::vector<GpuMerit> rows;
  for (const std::string& name : boundary_names(gpus))
    for (const bool measured : {false, true})
      for (const PowerTerm& term : law) add_rows(name, measured, term.beta, gpus, value_bytes, rows);
  return rows;
}

PageSection gpus_section(const BoundSchedule& schedule, const std::vector<GpuMerit>& merits, double value_bytes) {
  PageSection section{.heading = "GPUs by H*(M)"};
  section.paragraphs = {
      fmt::format("{}: H*(M) = {} {}.", schedule.name, schedule.law_text(),
                  schedule.request.widths.empty() ? "values" : "bytes"),
      fmt::format(
          "A term alpha*M^-beta takes alpha*M^-beta/H, so GPUs compare by H*M^beta, term by term. H: rate across "
          "the boundary in values a second; M: memory inside it; values of {:g} bytes. beta = 0 is the "
          "compulsory term. (Napkin, arXiv 2412.03317, section 5.1; the memory of hbm -> l2 by its theorem 2.)",
          value_bytes),
      "Ratios are within one boundary and one kind of rate. What was measured differs by profile: `hardware show ID` "
      "has the note of each rate."};
  PageTable table{.columns = {"boundary", "rate", "beta", "GPU", "M, values", "TB/s", "source", "H*M^beta", "x first"}};
  for (const GpuMerit& row : merits)
    table.rows.push_back({row.boundary, row.rate.measured ? "measured" : "published", fmt::format("{:g}", row.beta),
                          row.hardware, with_thousands(std::llround(row.memory_values)),
                          fmt::format("{:.3f}", row.rate.bytes_per_second * 1e-12), row.rate.source,
                          fmt::format("{:.4g}", row.merit), fmt::format("{:.2f}", row.to_first)});
  section.tables.push_back(std::move(table));
  return section;
}

nlohmann::ordered_json gpus_json(const BoundSchedule& schedule, const std::vector<GpuMerit>& merits) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const GpuMerit& row : merits)
    rows.push_back({{"boundary", row.boundary},
                    {"rate", row.rate.measured ? "measured" : "published"},
                    {"beta", row.beta},
                    {"hardware", row.hardware},
                    {"memory_values", row.memory_values},
                    {"bytes_per_second", row.rate.bytes_per_second},
                    {"source", row.rate.source},
                    {"merit", row.merit},
                    {"to_first", row.to_first}});
  return {{"schedule", schedule.name},
          {"law", schedule.law_text()},
          {"formula", "H*M^beta"},
          {"origin", "arXiv 2412.03317, section 5.1"},
          {"rows", rows}};
}

}  // namespace tilescope
