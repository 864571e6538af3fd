#include "block_sparse/instances.cuh"

namespace tilescope::kernels::block_sparse {

std::vector<Instance> bf16() { return all_tiles<__nv_bfloat16>(Dtype::bf16); }

}  // namespace tilescope::kernels::block_sparse
