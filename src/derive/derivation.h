// Derives from a diagram: roles, streamability with its witness, legal fusions and nests, their traffic as a function
// of memory, and the ranks of the named schedules.
#pragma once

#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "derive/kernel_problem.h"
#include "derive/nests/named.h"
#include "stream/check/verify.h"

namespace tilescope {

struct DeriveRequest {
  Diagram diagram{};
  std::string source{};  // name or file of the diagram, to apply named schedules to it; empty: the diagram's name
  Workload workload{};
  Mask mask{};
  double memory = 116736;                    // on chip, in values; in bytes when widths are given
  std::map<std::string, Rational> widths{};  // bytes per value, by array or dtype key; empty: values are counted
  std::size_t most_fusions = 200000;
  std::size_t most_nests =
      40000;  // nests whose best tiles are computed, over all kernels; at this limit the derivation is incomplete
  std::size_t ranked = 10;
  bool run_programs = true;  // false: only to measure what running them costs
  std::size_t threads = 1;   // the derivation does not depend on them
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
  double traffic = 0, lower_bound = 0;  // sums over the kernels; each kernel has the whole memory
  std::vector<std::string> names{};     // names of the schedules that have this fusion and these loops
};

struct NamedDerivation {
  std::string name{};
  Schedule schedule{};
  std::vector<ScheduleProblem> problems{};  // by island
  std::vector<BestTiles> best{};
  std::vector<ExactOptimum> optimum{};
  double traffic = 0;
  bool feasible = true;
  bool found = false;             // whether it is among the enumerated fusions and legal nests
  std::string missing_because{};  // the reason if it is not
};

struct Derivation {
  DeriveRequest request{};
  Primitives primitives{};                  // the primitives of the diagram
  FusedKernel whole{};                      // all operators in one kernel
  std::map<AxisId, Streamability> axes{};   // an axis whose witness failed on random streams is refused
  std::map<AxisId, Verification> proofs{};  // of folded axes: their witnesses on random streams
  Fusions fusions{};
  std::size_t kernels_ranked = 0, nests_considered = 0, nests_legal = 0, nests_kept = 0;
  bool nests_complete = true;
  std::vector<RankedFusion> ranked{};  // best first; each one passed the check of derive/checked.h
  std::vector<std::string> errors{};   // internal errors: witnesses and schedules that failed their check
  std::vector<NamedDerivation> named{};
  double compulsory = 0;
};

// Named schedules are those of models/schedules for this diagram. Nests that leave partial results are legal and
// counted, but not ranked: parts increase parallelism and do not reduce traffic.
Derivation derive(const DeriveRequest& request, const std::filesystem::path& models_directory);

// The counts and optima of one more schedule on the derivation's diagram, if it is legal.
NamedDerivation derive_named(const Derivation& derivation, const std::string& name, Schedule schedule);

}  // namespace tilescope
