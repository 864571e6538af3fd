#include "fused_fp8/instances.cuh"

namespace tilescope::kernels::fused_fp8 {

std::vector<Instance> fp8_scores() {
  return {instance<__half, Values::wide, 64, 3, 128, 2, false, true, false, true>(),
          instance<__half, Values::wide, 128, 2, 128, 2, false, true, true, true>(),
          instance<__half, Values::wide, 128, 2, 160, 2, false, true, true, true>(),
          instance<__half, Values::wide, 128, 2, 176, 2, true, true, true, true>(),
          instance<__half, Values::wide, 256, 2, 80, 2, false, true, false, true>()};
}

}  // namespace tilescope::kernels::fused_fp8
