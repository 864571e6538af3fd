#include "fused_fp8/instances.cuh"

namespace tilescope::kernels::fused_fp8 {

std::vector<Instance> fp8_d256() {
  return {instance<__nv_bfloat16, Values::rows, 256, 2, 96, 2, false, true, true, true>(),
          instance<__nv_bfloat16, Values::rows, 256, 2, 128, 2, true, true, true, true>()};
}

}  // namespace tilescope::kernels::fused_fp8
