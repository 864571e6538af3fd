// The loop nests of one fused kernel: every axis whole, grouped over blocks or streamed, the streams in every order
// (theory 4.2, P7); which of them are legal, and why others are not; and which can never be better than another one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "derive/fusions.h"
#include "schedule/schedule.h"

namespace tilescope {

struct AxisLoop {
  AxisId axis{};
  Partition partition = Partition::group;
  bool parts = false;  // a group over an axis over which results are folded: each block leaves partial results that are
                       // merged later
  friend auto operator<=>(const AxisLoop&, const AxisLoop&) = default;
};

// Groups first, by axis, then the streams from outside in. Axes without a loop are whole. An axis cut into parts may be
// streamed within a part.
using AxisLoops = std::vector<AxisLoop>;

// Axes as bits by AxisId; the upper half stands for the parts that a split cuts an axis into.
using AxisBits = std::uint32_t;

// The cost of each array: the loops that repeat it. A repeated result is stored and loaded again at each repetition,
// together with its running state.
struct NestCost {
  std::vector<std::pair<ArrayId, AxisBits>>
      repeated{};                                     // loads, then results; the same order for all nests of a kernel
  AxisBits tiled = 0;                                 // loops there are
  AxisBits parts = 0;                                 // axes that leave partial results
  std::vector<std::pair<ArrayId, AxisBits>> state{};  // running state that is stored, and the loops that repeat it
  std::vector<ArrayId> resident{};                    // on the chip in every column: see derive/columns.h
};

struct LegalNest {
  AxisLoops loops;
  NestCost cost;
};

struct Nests {
  std::vector<LegalNest> survivors;  // no other nest is at least as good for all sizes, tiles and memories
  std::size_t considered = 0, legal = 0;
  bool complete = true;
};

// Properties of a kernel that the rules use, computed once.
class KernelRules {
 public:
  KernelRules(const Primitives& primitives, const FusedKernel& kernel);

  // The rules, one by one. Empty: the loops are legal.
  //  - a fold that cannot be streamed leaves its axis whole;
  //  - blocks may share a fold only if its results can be merged from partial results, or are plain sums;
  //  - a fold whose result other results use is complete before they start: no loop inside it revisits its tile;
  //  - a fold adds each position once: a loop inside it that it does not have would repeat its steps;
  //  - running state in memory is not repeated by blocks, which would overwrite each other's;
  //  - of two folds that a third result awaits together, neither runs anew at each step of the other;
  //  - a view is part of its source's tile: the source's last axis is whole.
  std::string why_not(const AxisLoops& loops) const;

  NestCost cost(const AxisLoops& loops) const;

  const std::map<AxisId, Streamability>& axes() const { return axes_; }
  const std::vector<AxisId>& batch() const {
    return batch_;
  }                                 // every array has them: grouped with tile 1, which repeats nothing
  bool folded(AxisId axis) const;   // by some result
  bool splits(AxisId axis) const;   // into parts whose results merge
  bool adds_up(AxisId axis) const;  // every result that folds over it is a plain sum

 private:
  struct Result {
    ArrayId id{};
    AxisBits axes = 0, folded = 0, sums = 0;  // its axes; those it is folded over; those over which it is a plain sum
    AxisBits awaited = 0;                     // see awaited_axes()
    std::map<AxisId, std::vector<ArrayId>> state{};  // beside itself, by folded axis
  };
  struct InnerFold {
    ArrayId id{};
    AxisBits axes = 0, waited = 0;  // its axes; folded axes that must be complete before another result starts
  };

  std::string restarted(const AxisLoops& loops, std::size_t cut) const;
  std::string added_again(const AxisLoops& loops) const;
  std::string not_together(const AxisLoops& loops) const;

  const Primitives* primitives_;
  std::map<AxisId, Streamability> axes_;
  std::vector<AxisId> batch_;
  struct Load {
    ArrayId id{};
    AxisBits axes = 0, awaited = 0;
  };
  std::vector<Load> loads_;
  std::vector<Result> results_;
  std::vector<InnerFold> inner_;
  struct Folding {
    ArrayId id{};
    AxisBits axes = 0, folded = 0, awaited = 0;
  };
  std::vector<Folding> folds_;      // every fold of the kernel
  std::vector<AxisBits> awaiting_;  // of its primitives that follow from folds over several axes: these axes
  std::vector<std::pair<ArrayId, AxisId>> whole_;  // views, and the last axis of their source
  AxisBits mergeable_ = 0;
};

// a is at least as good as b, whatever the sizes, tiles and memory: it repeats every array over no other loops than b
// does, keeps no more state, holds no other arrays all the time, and has at least the loops of b, so that it can have
// b's tiles and footprint. (Proof: trip counts are at least 1, and a loop whose tile is the whole axis has one trip and
// moves nothing. Where a loop of b has one trip, b is as good as the nest without it, which is enumerated too.)
bool dominates(const NestCost& a, const NestCost& b);

// At most one axis is split into parts. Stops after `most` nests and clears `complete`.
inline constexpr std::size_t most_nests = 100000;
Nests enumerate_nests(const Primitives& primitives, const FusedKernel& kernel, std::size_t most = most_nests);

std::string to_text(const Diagram& diagram, const AxisLoops& loops);  // "[q:G][x:S]"

}  // namespace tilescope
