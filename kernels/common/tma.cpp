#include "common/tma.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace tilescope::kernels {
namespace {

// cuTensorMapEncodeTiled through the runtime, so that nothing links against the driver library.
decltype(&cuTensorMapEncodeTiled) encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
  if (status != cudaSuccess) {
    cudaGetLastError();
    throw DeviceError(fmt::format("tensor map: no CUDA driver: {}", cudaGetErrorString(status)));
  }
  if (found != cudaDriverEntryPointSuccess || function == nullptr)
    throw DeviceError("tensor map: the driver has no cuTensorMapEncodeTiled; it needs CUDA 12.0 or newer");
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
}

CUtensorMapDataType type_of(int element_bytes) {  // only zeros are ever filled in, so the format does not matter
  if (element_bytes == 1) return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  return element_bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16 : CU_TENSOR_MAP_DATA_TYPE_UINT32;
}

CUtensorMapSwizzle swizzle_of(std::uint32_t row_bytes) {
  if (row_bytes == 128) return CU_TENSOR_MAP_SWIZZLE_128B;
  if (row_bytes == 64) return CU_TENSOR_MAP_SWIZZLE_64B;
  return row_bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B : CU_TENSOR_MAP_SWIZZLE_NONE;
}

}  // namespace

CUtensorMap make_tensor_map(const void* array, int element_bytes, const std::vector<std::uint64_t>& sizes,
                            const std::vector<std::uint64_t>& strides, const std::vector<std::uint32_t>& box) {
  static const auto encode = encoder();
  CUtensorMap map{};
  const std::vector<std::uint32_t> steps(sizes.size(), 1);
  const CUresult status =
      encode(&map, type_of(element_bytes), static_cast<cuuint32_t>(sizes.size()), const_cast<void*>(array),
             sizes.data(), strides.data(), box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
             swizzle_of(box[0] * static_cast<std::uint32_t>(element_bytes)), CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS)
    throw DeviceError(fmt::format("tensor map: the driver refuses (error {}) sizes [{}], strides [{}], box [{}]",
                                  static_cast<int>(status), fmt::join(sizes, ", "), fmt::join(strides, ", "),
                                  fmt::join(box, ", ")));
  return map;
}

CUtensorMap make_tile_map(const void* array, int element_bytes, std::int64_t columns, std::int64_t rows,
                          std::int64_t outer, int box_rows) {
  const auto bytes = static_cast<std::uint64_t>(element_bytes);
  const auto panel = std::min<std::uint64_t>(static_cast<std::uint64_t>(columns), 128 / bytes);
  const std::uint64_t panels = static_cast<std::uint64_t>(columns) / panel, pitch = panel * panels * bytes;
  const auto all_rows = static_cast<std::uint64_t>(rows);
  return make_tensor_map(
      array, element_bytes, {panel, all_rows, panels, static_cast<std::uint64_t>(outer)},
      {pitch, panel * bytes, pitch * all_rows},
      {static_cast<std::uint32_t>(panel), static_cast<std::uint32_t>(box_rows), static_cast<std::uint32_t>(panels), 1});
}

}  // namespace tilescope::kernels
