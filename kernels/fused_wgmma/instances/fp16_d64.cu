#include "fused_wgmma/instances.cuh"

namespace tilescope::kernels::fused_wgmma {

std::vector<Instance> fp16_d64() { return head_dim_64<__half>(Dtype::fp16); }

}  // namespace tilescope::kernels::fused_wgmma
