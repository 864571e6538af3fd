// Device helpers for measurements: owned memory, random inputs, the L2 flush, a wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/kernel_api.h"

namespace tilescope::validate {

// Elements of `a` rows of `b`.
inline std::size_t product(std::int64_t a, std::int64_t b) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
}

// Device memory of `bytes` bytes, freed at the end of its scope. Throws DeviceError when there is not enough.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  void* get() const { return data_; }
  std::size_t size() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Standard normal values, the same for the same seed and count; in int8 and int4 codes of such values under scales of
// about 1/32 and 1/2.
void fill_normal(void* data, std::size_t count, kernels::Dtype dtype, std::uint64_t seed, void* stream);

// fp16 scales for int8 or int4 codes: those above, times a random factor from 0.5 to 1.5.
void fill_scales(void* data, std::size_t count, kernels::Dtype dtype, std::uint64_t seed, void* stream);

// Copies `count` elements from `offset` on to the host as float (exact for every dtype here); of int8
// and int4 the codes. int4: offset and count are even.
std::vector<float> read_as_float(const void* data, std::size_t offset, std::size_t count, kernels::Dtype dtype);

// Number of elements that are not finite: after filling an output with 0xFF bytes (NaN in fp32, fp16 and bf16)
// these are the elements that a kernel did not write or computed as NaN or infinity.
std::size_t count_not_finite(const void* data, std::size_t count, kernels::Dtype dtype);

// Keeps the stream busy for so long, on one SM. What the host queues meanwhile starts without a wait for the host.
void enqueue_wait(double seconds, void* stream);

// Flushes the L2 by reading: every line is replaced, dirty lines are written back, and no new dirty line is created.
class L2Flush {
 public:
  // Reads `multiple` times the L2 capacity of the current device.
  explicit L2Flush(int multiple = 4);
  void enqueue(void* stream) const;
  std::size_t bytes() const { return buffer_.size(); }

 private:
  DeviceBuffer buffer_;
  DeviceBuffer sink_;
};

}  // namespace tilescope::validate
