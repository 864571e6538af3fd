#include "split_kv/instances.cuh"

namespace tilescope::kernels::split_kv {

std::vector<Instance> kv_fp16() {
  constexpr Dtype kv = Dtype::fp16;
  return {instance<kv, 64, 16, 64, 4, 4, true, 3>(), instance<kv, 64, 64, 64, 4, 4, true, 3>(),
          instance<kv, 128, 16, 64, 4, 3, true, 2>(), instance<kv, 128, 64, 64, 4, 3, true, 2>(),
          instance<kv, 256, 16, 64, 4, 3, false, 1>()};
}

}  // namespace tilescope::kernels::split_kv
