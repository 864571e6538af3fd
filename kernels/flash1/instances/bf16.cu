#include "flash1/instances.cuh"

namespace tilescope::kernels::flash1 {

std::vector<Instance> bf16() { return all_tiles<__nv_bfloat16>(Dtype::bf16); }

}  // namespace tilescope::kernels::flash1
