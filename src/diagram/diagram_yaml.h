// A diagram in YAML as part of a document: read where another file holds it, and written.
#pragma once

#include <string>

#include "config/reader.h"
#include "diagram/diagram.h"

namespace tilescope {

// A map with the keys of tilescope/diagram/1; findings go to the document.
Diagram read_diagram(const Document& document, const Node& map);

// The same map, each line behind `indent`. Reading it gives the same axes, arrays and operators in the same order.
std::string diagram_yaml(const Diagram& diagram, const std::string& indent);

// A name or text as a YAML scalar: plain where that is safe in a list or map, else in double quotes.
std::string yaml_scalar(const std::string& text);

}  // namespace tilescope
