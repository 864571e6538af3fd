#include "fused_wgmma/instances.cuh"

namespace tilescope::kernels::fused_wgmma {

std::vector<Instance> bf16_d256() { return head_dim_256<__nv_bfloat16>(Dtype::bf16); }

}  // namespace tilescope::kernels::fused_wgmma
