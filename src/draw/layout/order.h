// The vertical order of lanes, chosen so that few wires cross.
#pragma once

#include <vector>

#include "draw/layout/flow.h"

namespace tilescope::draw {

// Lanes from top to bottom around one step. The step's box covers its inputs and outputs, which are adjacent, at
// position `box` among the passing lanes.
struct Stage {
  std::vector<int> above{}, below{};  // lanes that pass the box
  std::vector<int> inputs{}, outputs{};

  std::vector<int> before() const;  // above, inputs, below
  std::vector<int> after() const;   // above, outputs, below
};

struct Order {
  std::vector<int> first{};     // the inputs
  std::vector<Stage> stages{};  // one a step
  std::vector<int> last{};      // behind the last step
};

// A beam search over the places of every box; deterministic. Polynomial in arrays and steps.
Order order_of(const Flow& flow);

}  // namespace tilescope::draw
