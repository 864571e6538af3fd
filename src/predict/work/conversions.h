// What it takes threads to convert values between number formats: instructions a value, by pipe.
#pragma once

#include <array>

#include "base/dtype.h"
#include "hardware/profile.h"
#include "kernel/descriptor/kinds.h"

namespace tilescope {

using PipeRates =
    std::array<double, pipe_count>;  // operations a value, by Pipe; those of two values at once count half

// From the stored format, scales and zero points applied, to an operand's format or to fp32.
PipeRates unpacking(const Dtype& from, Format to, const HardwareProfile& hardware);

// From fp32 to a stored format: rounded, packed, and the scale of each group found.
PipeRates packing(const Dtype& to);

}  // namespace tilescope
