#include "split_kv/merge_launch.h"

#include "common/family.h"

namespace tilescope::kernels {

Launch split_kv::merge_launch(const void* combine, const void* combine_few, int d_v, const CombineParams& params) {
  const bool few = params.splits <= few_splits;
  const void* const function = few ? combine_few : combine;
  LaunchShape shape;
  shape.grid = few ? dim3(static_cast<unsigned>(ceil_div(params.rows * d_v / 8, combine_warps * 32)))
                   : dim3(static_cast<unsigned>(params.rows), static_cast<unsigned>(ceil_div(d_v, combine_columns)));
  shape.threads = combine_warps * 32;
  shape.early = true;
  return make_launch("combine", function, shape, params);
}

}  // namespace tilescope::kernels
