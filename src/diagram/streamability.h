// Whether an axis may be streamed through a fused region, and why (Napkin, arXiv 2412.03317, section 3.2; arXiv
// 2505.09326, definition 1).
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "diagram/primitives.h"
#include "stream/witness.h"

namespace tilescope {

// A fused region: primitives that run together, and those of their results that leave it.
struct Region {
  std::vector<int> primitives;  // positions in Primitives::list, in order
  std::vector<ArrayId> results;
};

struct Streamability {
  enum class Kind {
    absent,  // nothing in the region has the axis
    woven,   // no primitive folds over it: tiles are independent, results are concatenated
    folded,  // folded, with a witness of how a stream accumulates
    refused,
  };
  Kind kind = Kind::absent;
  std::optional<Witness> witness{};  // folded
  std::string reason{};              // refused: one line
};

// The folds of the region along the axis, with everything between them written out; or why they cannot be.
std::variant<Cascade, Refusal> cascade_along(const Primitives& primitives, const Region& region, AxisId axis);

Streamability streamability(const Primitives& primitives, const Region& region, AxisId axis);

// Whether all that leaves the region and depends on the fold is known from the running state: then blocks may fold
// parts of the axis, to be merged. Not so where a fold over another axis comes in between.
bool mergeable(const Primitives& primitives, const Region& region, AxisId axis);

}  // namespace tilescope
