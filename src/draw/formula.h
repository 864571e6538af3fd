// A formula of the program's texts, "q_len*kv_len*(d_qk + 3)*M^-1", as MathML.
#pragma once

#include <string>

namespace tilescope::draw {

// The element <math>. Text that is no such formula stands in it as it is.
std::string math_ml(const std::string& formula);

}  // namespace tilescope::draw
