#include "test/device_run.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"

namespace tilescope::kernels {
namespace {

constexpr std::size_t guard_bytes = 1024;

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw DeviceError(fmt::format("{}: {}", what, cudaGetErrorString(status)));
}

bool all_set(const DeviceBuffer& buffer, std::size_t from) {
  std::vector<unsigned char> tail(buffer.size() - from);
  buffer.download(tail.data(), tail.size(), from);
  return std::all_of(tail.begin(), tail.end(), [](unsigned char byte) { return byte == 0xff; });
}

}  // namespace

std::string no_device_reason() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) return cudaGetErrorString(status);
  return count > 0 ? "" : "no CUDA device";
}

bool skip_without_device() {
  static const std::string reason = no_device_reason();
  static bool said = false;
  if (!reason.empty() && !said) fmt::print(stderr, "skipped: the tests that run kernels need a GPU ({})\n", reason);
  said = true;
  return !reason.empty();
}

std::string to_string(Dtype dtype) { return dtype == Dtype::fp32 ? "fp32" : dtype == Dtype::fp16 ? "fp16" : "bf16"; }
std::size_t size_of(Dtype dtype) { return dtype == Dtype::fp32 ? 4 : 2; }

std::string describe(const Variant& v) {
  return fmt::format("{} {} d{} {}x{} {} warps", v.kernel, to_string(v.dtype), v.head_dim, v.tile_q, v.tile_kv,
                     v.warps);
}

std::string describe(const Shape& s, Mask mask) {
  return fmt::format("batch {} heads {}/{} q {} kv {} d {} {}", s.batch, s.heads_q, s.heads_kv, s.q_len, s.kv_len,
                     s.d_qk, mask == Mask::causal ? "causal" : "none");
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
  check(cudaMalloc(&pointer_, std::max<std::size_t>(bytes, 1)), "device memory");
}
DeviceBuffer::~DeviceBuffer() { cudaFree(pointer_); }
void DeviceBuffer::fill(unsigned char byte) { check(cudaMemset(pointer_, byte, bytes_), "fill"); }
void DeviceBuffer::upload(const void* source, std::size_t bytes) {
  check(cudaMemcpy(pointer_, source, bytes, cudaMemcpyHostToDevice), "upload");
}
void DeviceBuffer::download(void* destination, std::size_t bytes, std::size_t offset) const {
  check(cudaMemcpy(destination, static_cast<const char*>(pointer_) + offset, bytes, cudaMemcpyDeviceToHost),
        "download");
}

std::vector<float> to_floats(Dtype dtype, const std::vector<unsigned char>& raw) {
  std::vector<float> values(raw.size() / size_of(dtype));
  if (dtype == Dtype::fp32) {
    std::memcpy(values.data(), raw.data(), raw.size());
    return values;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype == Dtype::fp16) {
      __half_raw bits;
      std::memcpy(&bits.x, raw.data() + i * 2, 2);
      values[i] = __half2float(__half(bits));
    } else {
      __nv_bfloat16_raw bits;
      std::memcpy(&bits.x, raw.data() + i * 2, 2);
      values[i] = __bfloat162float(__nv_bfloat16(bits));
    }
  }
  return values;
}

HostArray random_array(Dtype dtype, std::int64_t count, float mean, float deviation, std::mt19937_64& random) {
  HostArray array;
  array.raw.resize(static_cast<std::size_t>(count) * size_of(dtype));
  std::normal_distribution<float> normal(mean, deviation);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const float x = normal(random);
    if (dtype == Dtype::fp32) {
      std::memcpy(array.raw.data() + i * 4, &x, 4);
    } else if (dtype == Dtype::fp16) {
      const __half_raw bits = __float2half(x);
      std::memcpy(array.raw.data() + i * 2, &bits.x, 2);
    } else {
      const __nv_bfloat16_raw bits = __float2bfloat16(x);
      std::memcpy(array.raw.data() + i * 2, &bits.x, 2);
    }
  }
  array.values = to_floats(dtype, array.raw);
  return array;
}

HostProblem random_problem(Dtype dtype, const Shape& s, Mask mask, std::mt19937_64& random) {
  std::uniform_real_distribution<float> mean(-0.5f, 0.5f), deviation(0.25f, 1.5f), sharpness(0.5f, 2.0f);
  HostProblem problem;
  problem.shape = s;
  problem.mask = mask;
  problem.scale = sharpness(random) / std::sqrt(static_cast<float>(s.d_qk));
  problem.q = random_array(dtype, s.batch * s.heads_q * s.q_len * s.d_qk, mean(random), deviation(random), random);
  problem.k = random_array(dtype, s.batch * s.heads_kv * s.kv_len * s.d_qk, mean(random), deviation(random), random);
  problem.v = random_array(dtype, s.batch * s.heads_kv * s.kv_len * s.d_v, mean(random), deviation(random), random);
  return problem;
}

RunResult run(const Variant& variant, const HostProblem& host) {
  const Shape& s = host.shape;
  const auto rows = static_cast<std::size_t>(s.batch * s.heads_q * s.q_len);
  const std::size_t o_bytes = rows * static_cast<std::size_t>(s.d_v) * size_of(variant.dtype), l_bytes = rows * 4;
  DeviceBuffer q(host.q.raw.size()), k(host.k.raw.size()), v(host.v.raw.size());
  DeviceBuffer o(o_bytes + guard_bytes), l(l_bytes + guard_bytes), workspace(workspace_bytes(variant, s));
  q.upload(host.q.raw.data(), q.size()), k.upload(host.k.raw.data(), k.size()), v.upload(host.v.raw.data(), v.size());
  o.fill(0xff), l.fill(0xff), workspace.fill(0xff);

  Problem problem{
      s, host.mask, host.scale, q.get(), k.get(), v.get(), o.get(), static_cast<float*>(l.get()), workspace.get()};
  RunResult result;
  result.launches = prepare(variant, problem);
  for (const Launch& launch : result.launches) launch.enqueue(nullptr);
  check(cudaDeviceSynchronize(), "kernel");
  std::vector<unsigned char> raw(o_bytes);
  o.download(raw.data(), o_bytes);
  result.o = to_floats(variant.dtype, raw);
  result.l.resize(rows);
  l.download(result.l.data(), l_bytes);
  result.guards_intact = all_set(o, o_bytes) && all_set(l, l_bytes);
  return result;
}

double median_seconds(const std::vector<Launch>& launches, int warm_up, int repeats) {
  auto enqueue_all = [&] {
    for (const Launch& launch : launches) launch.enqueue(nullptr);
  };
  for (int i = 0; i < warm_up; ++i) enqueue_all();
  std::vector<cudaEvent_t> events(static_cast<std::size_t>(repeats) + 1);
  for (cudaEvent_t& event : events) check(cudaEventCreate(&event), "event");
  check(cudaEventRecord(events[0]), "event");
  for (std::size_t i = 1; i < events.size(); ++i) {
    enqueue_all();
    check(cudaEventRecord(events[i]), "event");
  }
  check(cudaDeviceSynchronize(), "kernel");
  std::vector<double> seconds;
  for (std::size_t i = 1; i < events.size(); ++i) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, events[i - 1], events[i]), "event");
    seconds.push_back(milliseconds * 1e-3);
  }
  for (cudaEvent_t event : events) cudaEventDestroy(event);
  std::nth_element(seconds.begin(), seconds.begin() + repeats / 2, seconds.end());
  return seconds[static_cast<std::size_t>(repeats / 2)];
}

}  // namespace tilescope::kernels
