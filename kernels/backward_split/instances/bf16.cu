#include "backward_split/instances.cuh"

namespace tilescope::kernels::backward_split {

std::vector<Instance> bf16_instances() { return all<__nv_bfloat16>(Dtype::bf16); }

}  // namespace tilescope::kernels::backward_split
