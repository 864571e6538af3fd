// hardware_measure.h for a build without CUDA: every function reports that.
#include "base/error.h"
#include "validate/measure/counters/counters.h"
#include "validate/measure/hardware/hardware_measure.h"

namespace tilescope::validate {

GpuAtHand gpu_at_hand() { throw DeviceError(preflight().message); }

std::vector<double> bare_host_intervals(bool) { return {}; }

HardwareMeasurement measure_hardware(const HardwareMeasureOptions&) { throw DeviceError(preflight().message); }

}  // namespace tilescope::validate
