#include "fused_fp8/instances.cuh"

namespace tilescope::kernels::fused_fp8 {

std::vector<Instance> fp8_d64() {
  return {instance<__nv_bfloat16, Values::rows, 64, 2, 224, 2, false, true, false, true>(),
          instance<__nv_bfloat16, Values::rows, 64, 3, 128, 2, false, true, true, true>(),
          instance<__nv_bfloat16, Values::rows, 64, 3, 160, 2, false, true, true, true>()};
}

}  // namespace tilescope::kernels::fused_fp8
