#include "reference/standard.cuh"

namespace tilescope::kernels::reference {

std::vector<Instance> fp16_instances() { return instances<__half>(Dtype::fp16); }

}  // namespace tilescope::kernels::reference
