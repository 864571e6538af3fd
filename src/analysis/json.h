// How numbers of reports are written as JSON.
#pragma once

#include <cstdint>

#include "analysis/number.h"
#include "predict/explain/json.h"

namespace tilescope::analysis {

inline Json json_of(const Number& value) { return value ? Json(*value) : Json(nullptr); }

// A count: written without a decimal point.
inline Json whole(double value) { return static_cast<std::int64_t>(value); }
inline Json whole(const Number& value) { return value ? whole(*value) : Json(nullptr); }

}  // namespace tilescope::analysis
