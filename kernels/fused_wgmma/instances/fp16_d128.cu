#include "fused_wgmma/instances.cuh"

namespace tilescope::kernels::fused_wgmma {

std::vector<Instance> fp16_d128() { return head_dim_128<__half>(Dtype::fp16); }

}  // namespace tilescope::kernels::fused_wgmma
