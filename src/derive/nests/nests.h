// Enumerates the loop nests of one fused kernel: every axis whole, grouped over blocks or streamed, and the streams in
// every order. States which nests are legal, why the others are not, and which can never be better than another one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "derive/nests/fusions.h"
#include "schedule/schedule.h"

namespace tilescope {

struct AxisLoop {
  AxisId axis{};
  Partition partition = Partition::group;
  bool parts = false;  // a group over an axis that results are folded over; each block leaves partial results, which a
                       // second kernel merges
  friend auto operator<=>(const AxisLoop&, const AxisLoop&) = default;
};

// Groups first, by axis, then the streams from outside in. Axes without a loop are whole. An axis cut into parts may be
// streamed within a part.
using AxisLoops = std::vector<AxisLoop>;

// A set of axes: one bit per AxisId. The upper half has the bits of the parts that a split makes of an axis.
using AxisBits = std::uint32_t;

// The cost of each array: the loops that repeat it. A repeated result is stored and loaded again at each repetition,
// together with its running state.
struct NestCost {
  std::vector<std::pair<ArrayId, AxisBits>>
      repeated{};                 // loads, then results, in the same order for all nests of a kernel
  std::vector<AxisBits> minor{};  // of these: axes over which repeating it costs little (minor_over)
  std::vector<bool> unread{};     // of the loads: it cancels out of all results and is not loaded
  AxisBits groups = 0;            // loops over blocks
  AxisBits tiled = 0;             // axes that have a loop
  AxisBits parts = 0;             // axes whose parts leave partial results
  std::vector<std::pair<ArrayId, AxisBits>> state{};  // running state that is stored, and the loops that repeat it
  std::vector<ArrayId> resident{};                    // on the chip in every column: see derive/symbolic/columns.h
};

struct LegalNest {
  AxisLoops loops;
  NestCost cost;
  std::vector<ArrayId> unread{};
};

struct Nests {
  std::vector<LegalNest> survivors;  // nests that no other nest dominates
  std::size_t considered = 0, legal = 0;
  bool complete = true;
};

// Axes over which repeating a load is minor: another array in memory has its axes, that one and at least one more, so
// the repeated load moves at most that array's volume divided by the size of the further axes. A slope a head is minor
// over the batch and over the queries; a weight that every row shares is not. Results are never minor.
AxisBits minor_over(const Primitives& primitives, const FusedKernel& kernel, ArrayId load);

// Axes that nothing folds over and that every array in memory has, or whose loads that lack them are minor: they are
// grouped with tile 1, which repeats nothing of weight.
std::vector<AxisId> batch_axes(const Primitives& primitives, const FusedKernel& kernel);

// Properties of a kernel that the rules use, computed once.
class KernelRules {
 public:
  KernelRules(const Primitives& primitives, const FusedKernel& kernel);

  // The first rule that forbids the loops; empty if they are legal. The rules:
  //  - An axis whose fold cannot be streamed stays whole.
  //  - Blocks may share a fold only if its partial results can be merged, or if its results are plain sums.
  //  - A fold whose result other results use is complete before they start: no loop inside it revisits its tile.
  //  - A fold adds each position once: no loop inside it is over an axis that the fold lacks.
  //  - Blocks do not repeat a fold whose running state is in memory, because they would overwrite it.
  //  - If a result awaits two folds, neither fold is repeated at each step of the other.
  //  - A view is part of its source's tile, so the source's last axis stays whole.
  std::string why_not(const AxisLoops& loops) const;

  NestCost cost(const AxisLoops& loops) const;

  // Loads that cancel out of every result where the folds are streamed as their witnesses say: the weights of a
  // softmax sum up to 1 whatever the scores are. The program of the nest does not load them.
  std::vector<ArrayId> unread(const AxisLoops& loops) const;
  // Whether some way to stream the folds computes the result without the array: it is not compulsory.
  bool avoids(ArrayId array, ArrayId result) const;

  const std::map<AxisId, Streamability>& axes() const { return axes_; }
  const std::vector<AxisId>& batch() const { return batch_; }  // batch_axes()
  bool folded(AxisId axis) const;                              // some result is folded over it
  bool splits(AxisId axis) const;                              // it can be cut into parts whose results merge
  bool adds_up(AxisId axis) const;                             // every result that folds over it is a plain sum

 private:
  struct Result {
    ArrayId id{};
    AxisBits axes = 0, folded = 0, sums = 0;  // its axes; the axes of its folds; those of them that are plain sums
    AxisBits awaited = 0;                     // see awaited_axes()
    std::map<AxisId, std::vector<ArrayId>> state{};  // other arrays of its running state, by folded axis
  };
  struct InnerFold {
    ArrayId id{};
    AxisBits axes = 0, waited = 0;  // its axes; folded axes that must be complete before another result starts
  };

  std::string restarted(const AxisLoops& loops, std::size_t cut) const;
  void find_spread_state(const Primitive& fold);
  std::string state_beside_result(const AxisLoops& loops, std::size_t cut) const;
  bool parts_merge(const FusedKernel& kernel, const Island& island, AxisId axis) const;
  AxisLoops with_step_of_parts(AxisLoops loops) const;
  std::string parts_left_open(const AxisLoops& loops) const;
  std::string added_again(const AxisLoops& loops) const;
  std::string not_together(const AxisLoops& loops) const;

  const Primitives* primitives_;
  Region region_;
  std::map<AxisId, Streamability> axes_;
  std::vector<AxisId> batch_;
  struct Load {
    ArrayId id{};
    AxisBits axes = 0, awaited = 0, minor = 0;
  };
  std::vector<Load> loads_;
  std::vector<Result> results_;
  std::vector<InnerFold> inner_;
  struct Folding {
    ArrayId id{};
    AxisBits axes = 0, folded = 0, awaited = 0;
  };
  std::vector<Folding> folds_;                      // every fold of the kernel
  std::vector<std::pair<ArrayId, AxisId>> spread_;  // folds whose state along the axis is not one variable of their own
  std::vector<AxisBits> awaiting_;  // of its primitives that follow from folds over several axes: these axes
  std::vector<std::pair<ArrayId, AxisId>> whole_;  // views, and the last axis of their source
  AxisBits mergeable_ = 0;
  mutable std::map<std::vector<int>, std::vector<ArrayId>> unread_;  // by the axis that cuts each fold
};

// True if a is at least as good as b for all sizes, tiles and memories. Then a repeats each array over a subset of the
// loops that repeat it in b, keeps no more state, keeps no other arrays resident, and has at least the loops of b, so
// that a can have b's tiles and footprint. Proof: trip counts are at least 1, and a loop whose tile is the whole axis
// has one trip and moves nothing. If a loop of b has one trip, b equals the nest without it, which is enumerated too.
// A nest that is worse only by minor loads, but has more loops over blocks, is not dominated: best_nest() prefers it.
bool dominates(const NestCost& a, const NestCost& b);

// At most one axis is split into parts. Stops after `most` nests and clears `complete`.
inline constexpr std::size_t most_nests = 100000;
Nests enumerate_nests(const Primitives& primitives, const FusedKernel& kernel, std::size_t most = most_nests);

std::string to_text(const Diagram& diagram, const AxisLoops& loops);  // "[q:G][x:S]"

}  // namespace tilescope
