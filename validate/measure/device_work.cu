#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "validate/measure/cuda_check.h"
#include "validate/measure/device_work.h"

namespace tilescope::validate {
namespace {

constexpr unsigned threads = 256;

__device__ std::uint64_t mixed(std::uint64_t x) {  // splitmix64
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

__device__ float normal(std::uint64_t seed, std::uint64_t index) {  // Box-Muller
  const std::uint64_t bits = mixed(mixed(seed) ^ index);
  const float u = (static_cast<float>(bits >> 40) + 1.0f) * 0x1p-24f;
  const float v = static_cast<float>(bits & 0xFFFFFF) * 0x1p-24f;
  return sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
}

__device__ int code(float value, int most) { return min(max(__float2int_rn(value), -most - 1), most); }

// The type of one addressable element of a format and its conversions. int4: two codes a byte.
struct Int4Pair {
  std::uint8_t bits;
};
template <class T>
constexpr int values_of = 1;
template <>
constexpr int values_of<Int4Pair> = 2;

template <class T>
__device__ T make(std::uint64_t seed, std::uint64_t index) {
  return static_cast<T>(normal(seed, index));
}
template <>
__device__ std::int8_t make(std::uint64_t seed, std::uint64_t index) {
  return static_cast<std::int8_t>(code(normal(seed, index) * 32.0f, 127));
}
template <>
__device__ Int4Pair make(std::uint64_t seed, std::uint64_t index) {
  const int low = code(normal(seed, 2 * index) * 2.0f, 7), high = code(normal(seed, 2 * index + 1) * 2.0f, 7);
  return {static_cast<std::uint8_t>((low & 0xf) | (high & 0xf) << 4)};
}

template <class T>
__device__ void widen(T value, float* wide) {
  *wide = static_cast<float>(value);
}
template <>
__device__ void widen(Int4Pair value, float* wide) {
  wide[0] = static_cast<float>(static_cast<std::int8_t>(value.bits << 4) >> 4);
  wide[1] = static_cast<float>(static_cast<std::int8_t>(value.bits) >> 4);
}

template <class T>
__global__ void fill_kernel(T* data, std::size_t count, std::uint64_t seed) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    data[i] = make<T>(seed, i);
  }
}

template <class T>
__global__ void widen_kernel(const T* data, float* wide, std::size_t count) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    widen(data[i], wide + i * values_of<T>);
  }
}

__global__ void scales_kernel(__half* data, std::size_t count, float middle, std::uint64_t seed) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const float uniform = static_cast<float>(mixed(mixed(seed) ^ i) >> 40) * 0x1p-24f;
    data[i] = static_cast<__half>(middle * (0.5f + uniform));
  }
}

template <class T>
__global__ void not_finite_kernel(const T* data, std::size_t count, unsigned long long* found) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    if (!isfinite(static_cast<float>(data[i]))) atomicAdd(found, 1ull);
  }
}

__global__ void read_kernel(const uint4* data, std::size_t count, unsigned* sink) {
  unsigned all = 0;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const uint4 value = data[i];
    all |= value.x | value.y | value.z | value.w;
  }
  if (all != 0) *sink = all;  // never true, because the buffer is zero; keeps the compiler from removing the loads
}

__device__ unsigned long long timer_ns() {
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__global__ void wait_kernel(unsigned long long ns) {
  for (const unsigned long long begin = timer_ns(); timer_ns() - begin < ns;) {
  }
}

// Calls `run` with a typed null pointer that names the element type.
template <class Run>
void with_type(kernels::Dtype dtype, Run run) {
  switch (dtype) {
    case kernels::Dtype::fp32:
      run(static_cast<float*>(nullptr));
      break;
    case kernels::Dtype::fp16:
      run(static_cast<__half*>(nullptr));
      break;
    case kernels::Dtype::bf16:
      run(static_cast<__nv_bfloat16*>(nullptr));
      break;
    case kernels::Dtype::fp8_e4m3:
      run(static_cast<__nv_fp8_e4m3*>(nullptr));
      break;
    case kernels::Dtype::int8:
      run(static_cast<std::int8_t*>(nullptr));
      break;
    case kernels::Dtype::int4:
      run(static_cast<Int4Pair*>(nullptr));
      break;
    default:
      throw std::logic_error("no kernel is built for the format " + to_string(dtype));
  }
  check_cuda(cudaGetLastError(), "a kernel launch");
}

int device_attribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  check_cuda(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
  return value;
}

unsigned blocks() { return static_cast<unsigned>(device_attribute(cudaDevAttrMultiProcessorCount)) * 8; }

}  // namespace

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes > 0) check_cuda(cudaMalloc(&data_, bytes), "allocating device memory");
}
DeviceBuffer::~DeviceBuffer() { cudaFree(data_); }
DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

void fill_normal(void* data, std::size_t count, kernels::Dtype dtype, std::uint64_t seed, void* stream) {
  with_type(dtype, [&]<class T>(T*) {
    fill_kernel<<<blocks(), threads, 0, static_cast<cudaStream_t>(stream)>>>(static_cast<T*>(data),
                                                                             count / values_of<T>, seed);
  });
}

void fill_scales(void* data, std::size_t count, kernels::Dtype dtype, std::uint64_t seed, void* stream) {
  const float middle = dtype == kernels::Dtype::int8 ? 1.0f / 32 : 1.0f / 2;
  scales_kernel<<<blocks(), threads, 0, static_cast<cudaStream_t>(stream)>>>(static_cast<__half*>(data), count, middle,
                                                                             seed);
  check_cuda(cudaGetLastError(), "a kernel launch");
}

std::vector<float> read_as_float(const void* data, std::size_t offset, std::size_t count, kernels::Dtype dtype) {
  std::vector<float> host(count);
  if (count == 0) return host;
  const DeviceBuffer wide(count * sizeof(float));
  with_type(dtype, [&]<class T>(T*) {
    widen_kernel<<<blocks(), threads>>>(static_cast<const T*>(data) + offset / values_of<T>,
                                        static_cast<float*>(wide.get()), count / values_of<T>);
  });
  check_cuda(cudaMemcpy(host.data(), wide.get(), wide.size(), cudaMemcpyDeviceToHost), "copying to the host");
  return host;
}

std::size_t count_not_finite(const void* data, std::size_t count, kernels::Dtype dtype) {
  unsigned long long host = 0;
  const DeviceBuffer found(sizeof host);
  check_cuda(cudaMemset(found.get(), 0, sizeof host), "cudaMemset");
  const auto search = [&]<class T>(T*) {
    not_finite_kernel<<<blocks(), threads>>>(static_cast<const T*>(data), count,
                                             static_cast<unsigned long long*>(found.get()));
  };
  if (dtype == kernels::Dtype::fp32) search(static_cast<float*>(nullptr));
  else if (dtype == kernels::Dtype::fp16) search(static_cast<__half*>(nullptr));
  else search(static_cast<__nv_bfloat16*>(nullptr));
  check_cuda(cudaGetLastError(), "a kernel launch");
  check_cuda(cudaMemcpy(&host, found.get(), sizeof host, cudaMemcpyDeviceToHost), "copying to the host");
  return static_cast<std::size_t>(host);
}

void enqueue_wait(double seconds, void* stream) {
  wait_kernel<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(static_cast<unsigned long long>(seconds * 1e9));
  check_cuda(cudaGetLastError(), "a kernel launch");
}

L2Flush::L2Flush(int multiple)
    : buffer_(static_cast<std::size_t>(device_attribute(cudaDevAttrL2CacheSize)) * static_cast<std::size_t>(multiple)),
      sink_(sizeof(unsigned)) {
  check_cuda(cudaMemset(buffer_.get(), 0, buffer_.size()), "cudaMemset");
}

void L2Flush::enqueue(void* stream) const {
  read_kernel<<<blocks(), threads, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const uint4*>(buffer_.get()), buffer_.size() / sizeof(uint4), static_cast<unsigned*>(sink_.get()));
  check_cuda(cudaGetLastError(), "the flush launch");
}

}  // namespace tilescope::validate
