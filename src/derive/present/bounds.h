// Lower bounds that apply to a diagram, chosen by its structure.
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

// Compulsory traffic; COSMA (or, where an extent is small, Smith and van de Geijn) for each contraction by itself; and
// where a contraction's scores are normalised by a softmax and contracted again, the attention bound. In values: widths
// of the request do not enter.
std::vector<DiagramBound> bounds_of(const Derivation& derivation, const Diagram& diagram);

}  // namespace tilescope
