// The arrays of one measured point on the device.
#pragma once

#include <memory>
#include <vector>

#include "kernels/kernel_api.h"
#include "validate/measure/device_work.h"

namespace tilescope::validate {

// A point's requests to a kernel in addition to the shape.
struct MaskData {
  std::int64_t window = 0, block_q = 0, block_kv = 0;
  std::vector<std::uint8_t> blocks;  // [query block, key block], 0 or 1
};

// Inputs are standard normal (in formats with scales: codes of such values under random scales), pages lie in random
// order; outputs and the workspace are poisoned with NaN. O and L of a backward pass come from a forward kernel.
class PointArrays {
 public:
  PointArrays(const kernels::Variant& variant, const kernels::Shape& shape, kernels::Mask mask,
              const MaskData& mask_data, std::int64_t splits);
  const kernels::Problem& problem() const { return problem_; }

 private:
  DeviceBuffer* add(std::size_t bytes);
  void* values(std::size_t count, kernels::Dtype dtype, std::uint64_t seed);
  void* scales(std::size_t count, kernels::Dtype dtype, std::uint64_t seed);
  void* poisoned(std::size_t bytes);
  void* uploaded(const void* data, std::size_t bytes);
  void add_outputs(const kernels::Variant& variant);
  void run_forward(const kernels::Variant& backward);

  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
  kernels::Problem problem_;
};

}  // namespace tilescope::validate
