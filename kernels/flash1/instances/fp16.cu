#include "flash1/instances.cuh"

namespace tilescope::kernels::flash1 {

std::vector<Instance> fp16() { return all_tiles<__half>(Dtype::fp16); }

}  // namespace tilescope::kernels::flash1
