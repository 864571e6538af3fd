#include "fused_mma/instances.cuh"

namespace tilescope::kernels::fused_mma {

std::vector<Instance> bf16_d128() { return head_dim_128<__nv_bfloat16>(Dtype::bf16); }

}  // namespace tilescope::kernels::fused_mma
