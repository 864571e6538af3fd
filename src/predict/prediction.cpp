#include "predict/prediction.h"

namespace tilescope {

std::int64_t Work::fma_flop() const { return 2 * pipes[1] + pipes[2] + pipes[3]; }

}  // namespace tilescope
