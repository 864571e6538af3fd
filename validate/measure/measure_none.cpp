// measure.h for a build without CUDA: every function reports that.
#include "base/error.h"
#include "validate/measure/measure.h"

namespace tilescope::validate {

MeasureReport measure(const Experiment&, const HardwareProfile&, const MeasureOptions&) {
  throw DeviceError(preflight().message);
}

}  // namespace tilescope::validate
