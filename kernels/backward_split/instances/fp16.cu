#include "backward_split/instances.cuh"

namespace tilescope::kernels::backward_split {

std::vector<Instance> fp16_instances() { return all<__half>(Dtype::fp16); }

}  // namespace tilescope::kernels::backward_split
