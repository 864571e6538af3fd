#include "split_kv/merge_launch.h"

#include <fmt/format.h>

#include "base/error.h"
#include "common/family.h"

namespace tilescope::kernels {

Launch split_kv::merge_launch(const void* combine, const void* combine_few, int d_v, const CombineParams& params) {
  const bool few = params.splits <= few_splits;
  const void* const function = few ? combine_few : combine;
  LaunchShape shape;
  shape.grid = few ? dim3(static_cast<unsigned>(ceil_div(params.rows * d_v / 8, combine_warps * 32)))
                   : dim3(static_cast<unsigned>(params.rows), static_cast<unsigned>(ceil_div(d_v, combine_columns)));
  shape.threads = combine_warps * 32;
  Launch launch = describe_launch("combine", function, shape);
  launch.enqueue = [function, shape, copy = CombineParams(params)](void* stream) mutable {
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = shape.grid, config.blockDim = dim3(shape.threads);
    config.stream = static_cast<cudaStream_t>(stream), config.attrs = &early, config.numAttrs = 1;
    void* arguments[] = {&copy};
    if (const cudaError_t status = cudaLaunchKernelExC(&config, function, arguments); status != cudaSuccess) {
      cudaGetLastError();  // the error has been taken; leave none behind for the next call
      throw DeviceError(fmt::format("combine: launch failed: {}", cudaGetErrorString(status)));
    }
  };
  return launch;
}

}  // namespace tilescope::kernels
