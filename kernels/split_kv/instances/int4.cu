#include "split_kv/instances.cuh"

namespace tilescope::kernels::split_kv {

std::vector<Instance> kv_int4() {
  constexpr Dtype kv = Dtype::int4;
  return {narrow_instance<kv, 64, 128, 4, 4, 4>(), narrow_instance<kv, 64, 256, 4, 3, 4>(),
          narrow_instance<kv, 128, 128, 4, 4, 3>(), narrow_instance<kv, 128, 256, 4, 3, 2>(),
          instance<kv, 128, 64, 64, 8, 6, true, 1>()};
}

}  // namespace tilescope::kernels::split_kv
