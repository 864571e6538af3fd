#include "fused_mma/instances.cuh"

namespace tilescope::kernels::fused_mma {

std::vector<Instance> bf16_d256() { return head_dim_256<__nv_bfloat16>(Dtype::bf16); }

}  // namespace tilescope::kernels::fused_mma
