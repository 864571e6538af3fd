#include "fused_fp8/instances.cuh"

namespace tilescope::kernels::fused_fp8 {

std::vector<Instance> fp8_d128() {
  return {instance<__nv_bfloat16, Values::rows, 128, 2, 128, 2, false, true, false, false>(),
          instance<__nv_bfloat16, Values::rows, 128, 2, 160, 2, false, true, true, true>(),
          instance<__nv_bfloat16, Values::rows, 128, 2, 192, 2, false, true, false, true>(),
          instance<__nv_bfloat16, Values::rows, 128, 2, 224, 2, true, true, false, true>(),
          instance<__nv_bfloat16, Values::rows, 128, 3, 96, 2, false, true, false, false>()};
}

}  // namespace tilescope::kernels::fused_fp8
