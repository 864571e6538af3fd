// Running a variant from host arrays: buffers, poison, guards. Used by the tests and the benchmark.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernel_api.h"

namespace tilescope::kernels {

// Empty when a CUDA device can be used, else why not.
std::string no_device_reason();
// The same, but taken as a test's reason to skip: prints it once.
bool skip_without_device();

std::string to_string(Dtype dtype);
std::size_t size_of(Dtype dtype);
std::string describe(const Variant& variant);
std::string describe(const Shape& shape, Mask mask);

// Device memory, freed with the object. Throws DeviceError when it cannot be had.
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

// `count` values of dtype as raw bytes, and the same values as fp32. Normal with mean and deviation, rounded to dtype.
struct HostArray {
  std::vector<unsigned char> raw;
  std::vector<float> values;
};
HostArray random_array(Dtype dtype, std::int64_t count, float mean, float deviation, std::mt19937_64& random);
std::vector<float> to_floats(Dtype dtype, const std::vector<unsigned char>& raw);

struct HostProblem {
  Shape shape;
  Mask mask = Mask::none;
  float scale = 1.0f;
  HostArray q, k, v;
};
HostProblem random_problem(Dtype dtype, const Shape& shape, Mask mask, std::mt19937_64& random);

struct RunResult {
  std::vector<float> o, l;
  bool guards_intact = true;  // nothing was written past the ends of O and L
  std::vector<Launch> launches;
};
// Runs the variant's launches on outputs poisoned with NaN (all bits set).
RunResult run(const Variant& variant, const HostProblem& problem);

// Median over `repeats` of the time of all launches (CUDA events, after `warm_up` runs), in seconds.
double median_seconds(const std::vector<Launch>& launches, int warm_up, int repeats);

}  // namespace tilescope::kernels
