// Running a variant from host arrays: buffers, poison, guards. Used by the tests and the benchmark.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "formats.h"
#include "kernel_api.h"

namespace tilescope::kernels {

// Empty if a CUDA device can be used, else the reason why not.
std::string no_device_reason();
// The same as a test's reason to skip; prints it once.
bool skip_without_device();

std::string describe(const Variant& variant);
std::string describe(const Shape& shape, Mask mask);

// Device memory, freed with the object. Throws DeviceError if the allocation fails.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  void* get() const { return pointer_; }
  std::size_t size() const { return bytes_; }
  void fill(unsigned char byte);
  void upload(const void* source, std::size_t bytes);
  void download(void* destination, std::size_t bytes, std::size_t offset = 0) const;

 private:
  void* pointer_ = nullptr;
  std::size_t bytes_ = 0;
};

// `count` normal values, rounded to dtype.
Encoded random_array(Dtype dtype, std::int64_t count, float mean, float deviation, std::mt19937_64& random);

// The formats of a problem's arrays; variants of equal ones can share it.
struct Formats {
  Dtype q, k, v, o;
  friend auto operator<=>(const Formats&, const Formats&) = default;
};
Formats formats_of(const Variant& variant);

struct HostProblem {
  Shape shape;
  Mask mask = Mask::none;
  std::int64_t window = 0, block_q = 0, block_kv = 0;
  std::vector<std::uint8_t> block_mask;
  std::int64_t splits = 0;
  float scale = 1.0f;
  Encoded q, k, v, d_o;
  // Of a forward pass over q, k and v: inputs of a backward one.
  Encoded o;
  std::vector<float> l;
};
// Fresh values for Q, K, V and dO, a window and a block mask of blocks of 128 x 128. `v_in_k`: V is cut out of K.
HostProblem random_problem(const Formats& formats, const Shape& shape, Mask mask, bool v_in_k, std::mt19937_64& random);

struct RunResult {
  std::vector<float> o, l, d_q, d_k, d_v;  // what the variant's pass writes
  bool guards_intact = true;               // nothing was written past the ends of the outputs
  std::vector<Launch> launches;
};
// Runs the variant's launches on outputs and workspace poisoned with NaN (all bits set).
RunResult run(const Variant& variant, const HostProblem& problem);

// Median over `repeats` of the time of all launches (CUDA events, after `warm_up` runs), in seconds.
double median_seconds(const std::vector<Launch>& launches, int warm_up, int repeats);

}  // namespace tilescope::kernels
