#include "derive/present/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "derive/present/bounds.h"

namespace tilescope {
namespace {

constexpr int kSteps = 28;               // of half an octave
constexpr int kBelow = 16;               // of them below the request's memory
constexpr std::size_t kMostUnnamed = 4;  // ranked schedules without a name

// The traffic of a schedule's kernels, each with the whole memory.
template <typename Kernels>
MemoryCurve curve_of(std::string name, const Kernels& kernels, const DeriveRequest& request,
                     const std::vector<double>& memory) {
  MemoryCurve curve{.name = std::move(name), .values = {}};
  for (const double size : memory) {
    std::optional<double> sum = 0.0;
    for (const auto& [problem, schedule] : kernels) {
      const BestTiles best = best_tiles(*problem, *schedule, request.workload, request.mask, size).tiles;
      if (!best.found) sum.reset();
      if (!sum) break;
      *sum += best.traffic;
    }
    curve.values.push_back(sum);
  }
  return curve;
}

using KernelList = std::vector<std::pair<const ScheduleProblem*, const Schedule*>>;

}  // namespace

MemoryCurves memory_curves(const Derivation& derivation, const Diagram& diagram) {
  const DeriveRequest& request = derivation.request;
  MemoryCurves out{.at = request.memory, .bytes = !request.widths.empty(), .memory = {}, .curves = {}};
  for (int i = 0; i <= kSteps; ++i) out.memory.push_back(request.memory * std::exp2((i - kBelow) / 2.0));
  for (const NamedDerivation& named : derivation.named) {
    if (!named.found) continue;
    KernelList kernels;
    for (const ScheduleProblem& problem : named.problems) kernels.emplace_back(&problem, &named.schedule);
    out.curves.push_back(curve_of(named.name, kernels, request, out.memory));
    out.curves.back().named = true;
  }
  std::size_t unnamed = 0;
  for (std::size_t i = 0; i < derivation.ranked.size(); ++i) {
    const RankedFusion& ranked = derivation.ranked[i];
    if (!ranked.names.empty() || ++unnamed > kMostUnnamed) continue;
    KernelList kernels;
    for (const RankedKernel& kernel : ranked.kernels) kernels.emplace_back(&kernel.problem, &kernel.schedule);
    out.curves.push_back(curve_of(fmt::format("ranked {}", i + 1), kernels, request, out.memory));
  }
  std::vector<MemoryCurve> bounds;
  Derivation at = derivation;
  for (const double size : out.memory) {
    at.request.memory = size;
    std::size_t i = 0;  // where a bound says less than the compulsory traffic it is left out
    for (const DiagramBound& bound : bounds_of(at, diagram)) {
      if (!bound.whole || bound.asymptotic) continue;
      if (i == bounds.size()) bounds.push_back({.name = bound.name, .bound = true, .values = {}});
      bounds[i++].values.push_back(bound.values >= derivation.compulsory ? std::optional(bound.values) : std::nullopt);
    }
  }
  for (MemoryCurve& bound : bounds) out.curves.push_back(std::move(bound));
  return out;
}

}  // namespace tilescope
