#include "case_study/instances.cuh"

namespace tilescope::kernels::case_study {

std::vector<Instance> fp16_d256() { return all_tiles<256>(); }

}  // namespace tilescope::kernels::case_study
