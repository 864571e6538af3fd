#include "reference/standard.cuh"

namespace tilescope::kernels::reference {

std::vector<Instance> bf16_instances() { return instances<__nv_bfloat16>(Dtype::bf16); }

}  // namespace tilescope::kernels::reference
