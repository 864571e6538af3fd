// A number that may be absent.
#pragma once

#include <cmath>
#include <optional>

namespace tilescope::analysis {

using Number = std::optional<double>;  // empty: unknown; printed as null or a dash, never as zero

inline Number finite(const Number& value) { return value && std::isfinite(*value) ? value : std::nullopt; }

}  // namespace tilescope::analysis
