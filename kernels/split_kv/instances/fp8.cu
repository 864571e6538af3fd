#include "split_kv/instances.cuh"

namespace tilescope::kernels::split_kv {

std::vector<Instance> kv_fp8() {
  constexpr Dtype kv = Dtype::fp8_e4m3;
  return {instance<kv, 64, 16, 64, 4, 6, true, 4>(), instance<kv, 64, 16, 128, 4, 3, true, 4>(),
          instance<kv, 128, 16, 64, 4, 4, true, 3>(), instance<kv, 128, 16, 128, 4, 3, true, 2>(),
          instance<kv, 128, 64, 64, 8, 6, true, 1>()};
}

}  // namespace tilescope::kernels::split_kv
