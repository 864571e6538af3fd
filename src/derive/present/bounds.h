// Chooses the lower bounds that apply to a diagram.
#pragma once

#include <string>
#include <vector>

#include "derive/derivation.h"

namespace tilescope {

struct DiagramBound {
  std::string name, holds_for, source;
  double values = 0;
  bool asymptotic = false;
  bool whole = false;  // holds for every schedule of the diagram
};

// The bounds are: the compulsory traffic; for each contraction alone the bound of COSMA or, if an extent is small, of
// Smith and van de Geijn; and the attention bound if a softmax normalises the scores of one contraction for another.
// They count values and do not depend on the widths of the request.
std::vector<DiagramBound> bounds_of(const Derivation& derivation, const Diagram& diagram);

}  // namespace tilescope
