#include "case_study/instances.cuh"

namespace tilescope::kernels::case_study {

std::vector<Instance> fp16_d64() { return all_tiles<64>(); }

}  // namespace tilescope::kernels::case_study
