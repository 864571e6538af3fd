#include "block_sparse/instances.cuh"

namespace tilescope::kernels::block_sparse {

std::vector<Instance> fp16() { return all_tiles<__half>(Dtype::fp16); }

}  // namespace tilescope::kernels::block_sparse
