#include "common/launch.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tilescope::kernels {
namespace {

void check(cudaError_t status, const std::string& island, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // the error is reported here; clear it so that the next call does not return it
  throw DeviceError(fmt::format("{}: {}: {}", island, what, cudaGetErrorString(status)));
}

}  // namespace

int device_attribute(const std::string& who, cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), who, "no CUDA device");
  check(cudaDeviceGetAttribute(&value, attribute, device), who, "device query");
  return value;
}

Launch describe_launch(std::string island, const void* function, const LaunchShape& shape) {
  Launch launch;
  launch.island = std::move(island);
  const unsigned grid[3] = {shape.grid.x, shape.grid.y, shape.grid.z};
  std::copy(grid, grid + 3, launch.grid);
  launch.block[0] = shape.threads;
  launch.dynamic_smem_bytes = shape.dynamic_smem_bytes;

  const int limit = device_attribute(launch.island, cudaDevAttrMaxSharedMemoryPerBlockOptin);
  if (shape.dynamic_smem_bytes > limit)
    throw DeviceError(fmt::format("{}: needs {} bytes of shared memory a block; this device allows {}", launch.island,
                                  shape.dynamic_smem_bytes, limit));
  check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, shape.dynamic_smem_bytes),
        launch.island, "cannot set the shared memory size");
  // The split between L1 and shared memory decides how many blocks fit; request the largest shared memory.
  check(cudaFuncSetAttribute(function, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared),
        launch.island, "cannot set the shared memory carveout");
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, function), launch.island, "no machine code for this device");
  launch.registers_per_thread = attributes.numRegs;
  launch.static_smem_bytes = static_cast<std::int64_t>(attributes.sharedSizeBytes);
  launch.local_bytes_per_thread = static_cast<std::int64_t>(attributes.localSizeBytes);
  check(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&launch.blocks_per_unit, function, static_cast<int>(shape.threads),
                                                    static_cast<std::size_t>(shape.dynamic_smem_bytes)),
      launch.island, "occupancy query");
  return launch;
}

void launch_raw(const std::string& island, const void* function, const LaunchShape& shape, void* parameters,
                void* stream) {
  void* arguments[] = {parameters};
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid, config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = static_cast<std::size_t>(shape.dynamic_smem_bytes);
  config.stream = static_cast<cudaStream_t>(stream);
  config.attrs = &early, config.numAttrs = shape.early ? 1 : 0;
  check(cudaLaunchKernelExC(&config, function, arguments), island, "launch failed");
}

}  // namespace tilescope::kernels
