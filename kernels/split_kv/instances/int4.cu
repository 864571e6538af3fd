#include "split_kv/instances.cuh"

namespace tilescope::kernels::split_kv {

std::vector<Instance> kv_int4() {
  constexpr Dtype kv = Dtype::int4;
  return {instance<kv, 64, 16, 128, 4, 4, true, 3>(), instance<kv, 128, 16, 128, 4, 4, true, 2>(),
          instance<kv, 128, 64, 64, 8, 6, true, 1>()};
}

}  // namespace tilescope::kernels::split_kv
