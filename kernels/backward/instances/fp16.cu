#include "backward/instances.cuh"

namespace tilescope::kernels::backward {

std::vector<Instance> fp16_instances() { return all<__half>(Dtype::fp16); }

}  // namespace tilescope::kernels::backward
