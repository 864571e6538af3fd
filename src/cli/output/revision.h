// What revision.cmake writes at each build.
#pragma once

namespace tilescope::cli {

const char* build_revision();      // git hash, with "-modified" when files differ from it; "unknown" outside git
const char* build_cuda_version();  // of the CUDA toolkit; "none" without one

}  // namespace tilescope::cli
