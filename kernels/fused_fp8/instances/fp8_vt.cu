#include "fused_fp8/instances.cuh"

namespace tilescope::kernels::fused_fp8 {

std::vector<Instance> fp8_vt() {
  return {instance<__nv_bfloat16, Values::columns, 128, 2, 192, 2, false, true, false, true>(),
          instance<__nv_bfloat16, Values::columns, 128, 2, 224, 2, false, true, true, true>(),
          instance<__nv_bfloat16, Values::columns, 256, 2, 128, 2, true, true, true, true>()};
}

}  // namespace tilescope::kernels::fused_fp8
