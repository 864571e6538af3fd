// Everything that is derived from a diagram: roles, streamability with its witness, legal fusions and nests, their
// traffic as a function of memory, and where the named schedules lie among them (theory 4.2).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "derive/kernel_problem.h"
#include "derive/named.h"

namespace tilescope {

struct DeriveRequest {
  Diagram diagram{};
  std::string
      source{};  // name or file of the diagram, for applying named schedules to it; empty: by the diagram's name
  Workload workload{};
  Mask mask{};
  double memory = 116736;                    // on chip, in values; in bytes when widths are given
  std::map<std::string, Rational> widths{};  // bytes a value, by array or dtype key; empty: count values
  std::size_t most_fusions = 200000;
  std::size_t most_nests =
      40000;  // nests whose best tiles are computed, over all kernels; at this limit the derivation is incomplete
  std::size_t ranked = 10;
};

struct RankedKernel {
  FusedKernel kernel{};
  AxisLoops loops{};
  Schedule schedule{};  // the kernel as a separate schedule
  ScheduleProblem problem{};
  BestTiles best{};
};

struct RankedFusion {
  std::vector<RankedKernel> kernels{};
  std::vector<ArrayId> materialised{};
  double traffic = 0, lower_bound = 0;  // sum of the kernels, each with all of the memory
  std::vector<std::string> names{};     // of schedules that are this fusion with these loops
};

struct NamedDerivation {
  std::string name{};
  Schedule schedule{};
  std::vector<ScheduleProblem> problems{};  // by island
  std::vector<BestTiles> best{};
  std::vector<ExactOptimum> optimum{};
  double traffic = 0;
  bool feasible = true;
  bool found = false;             // among the enumerated fusions and legal nests
  std::string missing_because{};  // when not
};

struct Derivation {
  DeriveRequest request{};
  Primitives primitives{};  // of the primitive diagram
  FusedKernel whole{};      // everything fused
  std::map<AxisId, Streamability> axes{};
  Fusions fusions{};
  std::size_t kernels_ranked = 0, nests_considered = 0, nests_legal = 0, nests_kept = 0;
  bool nests_complete = true;
  std::vector<RankedFusion> ranked{};  // best first; each was executed, see derive/checked.h
  std::vector<std::string> errors{};   // internal errors: schedules that are not ranked because they are wrong
  std::vector<NamedDerivation> named{};
  double compulsory = 0;
};

// Named schedules are those of models/schedules whose diagram is this one. Nests that leave partial results are counted
// and legal but not ranked: parts increase parallelism but do not reduce traffic.
Derivation derive(const DeriveRequest& request, const std::filesystem::path& models_directory);

// One more schedule on the derivation's diagram: its counts and optima, when the rules allow it.
NamedDerivation derive_named(const Derivation& derivation, const std::string& name, Schedule schedule);

// The cheapest nest of a kernel at this memory; `found` is false when none fits.
RankedKernel best_nest(const Primitives& primitives, const FusedKernel& kernel, const Nests& nests,
                       const DeriveRequest& request);

}  // namespace tilescope
