#include "test/device_run.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>

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

std::string describe(const Variant& v) {
  std::string formats = to_string(v.dtype);
  for (const std::optional<Dtype>& format : {v.q, v.k, v.v})
    if (format) formats += "/" + to_string(*format);
  return fmt::format("{} {} d{} {}x{} {} warps{}{}", v.kernel, formats, v.head_dim, v.tile_q, v.tile_kv, v.warps,
                     v.stages > 0 ? fmt::format(" {} stages", v.stages) : "", v.paged ? " paged" : "");
}

std::string describe(const Shape& s, Mask mask) {
  return fmt::format("batch {} heads {}/{} q {} kv {} d {} {}", s.batch, s.heads_q, s.heads_kv, s.q_len, s.kv_len,
                     s.d_qk, to_string(mask));
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

Encoded random_array(Dtype dtype, std::int64_t count, float mean, float deviation, std::mt19937_64& random) {
  std::normal_distribution<float> normal(mean, deviation);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& x : values) x = normal(random);
  return encode(dtype, values);
}

Formats formats_of(const Variant& v) { return {v.dtype_q(), v.dtype_k(), v.dtype_v(), v.dtype}; }

namespace {

// Copies the first d_v of each d_qk columns.
Encoded first_columns(const Encoded& k, Dtype dtype, std::int64_t d_qk, std::int64_t d_v) {
  std::vector<float> values;
  for (std::size_t at = 0; at < k.values.size(); at += static_cast<std::size_t>(d_qk)) {
    const auto from = k.values.begin() + static_cast<std::ptrdiff_t>(at);
    values.insert(values.end(), from, from + d_v);
  }
  return encode(dtype, values);
}

}  // namespace

HostProblem random_problem(const Formats& formats, const Shape& s, Mask mask, bool v_in_k, std::mt19937_64& random) {
  std::uniform_real_distribution<float> mean(-0.5f, 0.5f), deviation(0.25f, 1.5f), sharpness(0.5f, 2.0f);
  HostProblem problem;
  problem.shape = s;
  problem.mask = mask;
  problem.scale = sharpness(random) / std::sqrt(static_cast<float>(s.d_qk));
  const auto array = [&](Dtype dtype, std::int64_t count) {
    const float middle = mean(random), spread = deviation(random);
    return random_array(dtype, count, middle, spread, random);
  };
  problem.q = array(formats.q, s.batch * s.heads_q * s.q_len * s.d_qk);
  problem.k = array(formats.k, s.batch * s.heads_kv * s.kv_len * s.d_qk);
  problem.v = v_in_k ? first_columns(problem.k, formats.v, s.d_qk, s.d_v)
                     : array(formats.v, s.batch * s.heads_kv * s.kv_len * s.d_v);
  problem.d_o = array(formats.o, s.batch * s.heads_q * s.q_len * s.d_v);
  if (mask == Mask::window) problem.window = std::uniform_int_distribution<std::int64_t>(1, s.kv_len + 10)(random);
  if (mask == Mask::blocks) {
    problem.block_q = problem.block_kv = 128;  // a multiple of every tile that is built
    const std::int64_t blocks = (s.q_len + 127) / 128 * ((s.kv_len + 127) / 128);
    for (std::int64_t i = 0; i < blocks; ++i) problem.block_mask.push_back(random() % 3 != 0);
  }
  return problem;
}

namespace {

// Keys a page: 64, or as many as a longer tile needs.
std::int64_t page_size_for(const Variant& variant) { return std::max(64, variant.tile_kv); }

// Rows of `row_bytes` [batch, heads_kv, kv_len] as a pool [pages, heads_kv, page_size]; rows past kv_len are all ones
// (NaN).
std::vector<unsigned char> paged(const void* dense, std::size_t row_bytes, const Shape& s,
                                 const std::vector<std::int32_t>& table, std::int64_t page_size) {
  const std::int64_t pages = (s.kv_len + page_size - 1) / page_size;
  std::vector<unsigned char> pool(table.size() * static_cast<std::size_t>(s.heads_kv * page_size) * row_bytes, 0xff);
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t h = 0; h < s.heads_kv; ++h)
      for (std::int64_t j = 0; j < s.kv_len; ++j) {
        const std::int64_t page = table[static_cast<std::size_t>(b * pages + j / page_size)];
        const std::int64_t to = (page * s.heads_kv + h) * page_size + j % page_size;
        const std::int64_t from = (b * s.heads_kv + h) * s.kv_len + j;
        std::memcpy(pool.data() + static_cast<std::size_t>(to) * row_bytes,
                    static_cast<const unsigned char*>(dense) + static_cast<std::size_t>(from) * row_bytes, row_bytes);
      }
  return pool;
}

std::vector<std::int32_t> random_block_table(const Shape& s, std::int64_t page_size, std::mt19937_64& random) {
  std::vector<std::int32_t> table(static_cast<std::size_t>(s.batch * ((s.kv_len + page_size - 1) / page_size)));
  std::iota(table.begin(), table.end(), 0);
  std::shuffle(table.begin(), table.end(), random);
  return table;
}

std::unique_ptr<DeviceBuffer> uploaded(const void* data, std::size_t bytes) {
  auto buffer = std::make_unique<DeviceBuffer>(bytes);
  if (bytes > 0) buffer->upload(data, bytes);
  return buffer;
}

template <class T>
std::unique_ptr<DeviceBuffer> uploaded(const std::vector<T>& data) {
  return uploaded(data.data(), data.size() * sizeof(T));
}

// An output poisoned with NaN, and guard bytes behind it.
class Output {
 public:
  Output(Dtype dtype, std::int64_t count)
      : dtype_(dtype), bytes_(bytes_of(dtype, count)), buffer_(bytes_ + guard_bytes) {
    buffer_.fill(0xff);
  }
  void* get() const { return buffer_.get(); }
  bool guard_intact() const { return all_set(buffer_, bytes_); }
  std::vector<float> values() const {
    std::vector<unsigned char> raw(bytes_);
    buffer_.download(raw.data(), raw.size());
    return decode(dtype_, raw);
  }

 private:
  Dtype dtype_;
  std::size_t bytes_;
  DeviceBuffer buffer_;
};

// K or V, and its scales, in the variant's format.
struct Keys {
  std::unique_ptr<DeviceBuffer> data, scales;
};
Keys upload_keys(const Encoded& array, std::int64_t d, Dtype dtype, const Shape& s,
                 const std::vector<std::int32_t>& table, std::int64_t page_size) {
  if (table.empty()) return {uploaded(array.raw), uploaded(array.scales)};
  Keys keys{uploaded(paged(array.raw.data(), bytes_of(dtype, d), s, table, page_size)), uploaded(array.scales)};
  if (!array.scales.empty())
    keys.scales = uploaded(paged(array.scales.data(), scale_bytes_of(dtype, d), s, table, page_size));
  return keys;
}

}  // namespace

RunResult run(const Variant& variant, const HostProblem& host) {
  const Shape& s = host.shape;
  const bool backward = pass_of(variant) == Pass::backward;
  std::mt19937_64 random(static_cast<std::uint64_t>(s.kv_len));
  const std::int64_t page_size = page_size_for(variant);
  const std::vector<std::int32_t> table =
      variant.paged ? random_block_table(s, page_size, random) : std::vector<std::int32_t>{};
  const auto q = uploaded(host.q.raw), d_o = uploaded(host.d_o.raw), o_in = uploaded(host.o.raw),
             l_in = uploaded(host.l);
  const auto mask = uploaded(host.block_mask), block_table = uploaded(table);
  const Keys k = upload_keys(host.k, s.d_qk, variant.dtype_k(), s, table, page_size);
  const Keys v = upload_keys(host.v, s.d_v, variant.dtype_v(), s, table, page_size);
  const std::int64_t rows = s.batch * s.heads_q * s.q_len, keys = s.batch * s.heads_kv * s.kv_len;
  Output o(variant.dtype, backward ? 0 : rows * s.d_v), l(Dtype::fp32, backward ? 0 : rows);
  Output d_q(variant.dtype, backward ? rows * s.d_qk : 0), d_k(variant.dtype, backward ? keys * s.d_qk : 0),
      d_v(variant.dtype, backward ? keys * s.d_v : 0);

  Problem problem{
      .shape = s, .mask = host.mask, .scale = host.scale, .q = q->get(), .k = k.data->get(), .v = v.data->get()};
  problem.o = backward ? o_in->get() : o.get();
  problem.l = static_cast<float*>(backward ? l_in->get() : l.get());
  problem.window = host.window, problem.splits = host.splits;
  if (host.mask == Mask::blocks) problem.block_mask = static_cast<const std::uint8_t*>(mask->get());
  problem.block_q = host.block_q, problem.block_kv = host.block_kv;
  if (variant.paged) {
    problem.block_table = static_cast<const std::int32_t*>(block_table->get());
    problem.page_size = page_size, problem.pages = static_cast<std::int64_t>(table.size());
  }
  problem.k_scales = k.scales->get(), problem.v_scales = v.scales->get();
  problem.q_descale = host.q.descale, problem.k_descale = host.k.descale, problem.v_descale = host.v.descale;
  problem.d_o = d_o->get(), problem.d_q = d_q.get(), problem.d_k = d_k.get(), problem.d_v = d_v.get();
  DeviceBuffer workspace(workspace_bytes(variant, problem));
  workspace.fill(0xff);
  problem.workspace = workspace.get();

  RunResult result;
  result.launches = prepare(variant, problem);
  for (const Launch& launch : result.launches) launch.enqueue(nullptr);
  check(cudaDeviceSynchronize(), "kernel");
  result.o = o.values(), result.l = l.values();
  result.d_q = d_q.values(), result.d_k = d_k.values(), result.d_v = d_v.values();
  for (const Output* output : {&o, &l, &d_q, &d_k, &d_v}) result.guards_intact &= output->guard_intact();
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
