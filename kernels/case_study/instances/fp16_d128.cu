#include "case_study/instances.cuh"

namespace tilescope::kernels::case_study {

std::vector<Instance> fp16_d128() { return all_tiles<128>(); }

}  // namespace tilescope::kernels::case_study
