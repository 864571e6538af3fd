// HBM: bandwidth of long streams, and latency of a dependent load that misses every cache.
#include "validate/microbench/device_loops.cuh"

namespace tilescope::validate {
namespace {

constexpr std::size_t bytes = std::size_t{2} << 30;  // of a stream

__global__ void __launch_bounds__(512) read_kernel(const uint4* from, std::size_t count, unsigned* sink) {
  const std::size_t trip = std::size_t{gridDim.x} * blockDim.x * loads_in_flight;
  unsigned x = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x * loads_in_flight + threadIdx.x; i < count; i += trip) {
    uint4 v[loads_in_flight];
#pragma unroll
    for (int j = 0; j < loads_in_flight; ++j) v[j] = load_16(from + i + j * blockDim.x);
#pragma unroll
    for (int j = 0; j < loads_in_flight; ++j) x ^= v[j].x ^ v[j].y ^ v[j].z ^ v[j].w;
  }
  if (x == 0x7fedcba9u) *sink = x;
}

__global__ void __launch_bounds__(512) write_kernel(uint4* to, std::size_t count) {
  const std::size_t trip = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += trip)
    asm volatile("st.global.v4.u32 [%0], {%1,%2,%1,%2};" ::"l"(to + i), "r"(threadIdx.x), "r"(blockIdx.x) : "memory");
}

// Rows of a random cycle: each 4-byte value is the offset of the next.
__global__ void link_kernel(unsigned* data, unsigned lines, unsigned factor) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < lines; i += gridDim.x * blockDim.x)
    data[std::size_t{i} * 32] = ((i * factor + 12345u) & (lines - 1)) * 32;  // full period: factor % 4 == 1
}

struct Chase {
  const unsigned* data;
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    unsigned at = blockIdx.x * 32;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      unsigned next;
      asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(next) : "l"(data + at) : "memory");
      at = next;
    }
    watch.stop();
    return at;
  }
};

}  // namespace

void measure_hbm(Microbench& bench) {
  const DeviceBuffer a(bytes), b(bytes);
  check_cuda(cudaMemset(a.get(), 1, bytes), "cudaMemset");
  check_cuda(cudaMemset(b.get(), 1, bytes), "cudaMemset");
  const std::size_t count = bytes / 16;
  const DeviceBuffer sink(16);
  const auto blocks = static_cast<unsigned>(bench.units() * 4);
  const auto rate = [&](double moved, auto enqueue) {
    std::vector<double> samples;
    enqueue();
    for (int i = 0; i < bench.repeats(); ++i) samples.push_back(moved / event_seconds(enqueue));
    return samples;
  };
  const double size = static_cast<double>(bytes);
  bench.add("hbm.read",
            rate(size,
                 [&] {
                   read_kernel<<<blocks, 512>>>(static_cast<const uint4*>(a.get()), count,
                                                static_cast<unsigned*>(sink.get()));
                 }),
            "2 GiB, 16 B a thread, 8 loads in flight");
  bench.add("hbm.write", rate(size, [&] { write_kernel<<<blocks, 512>>>(static_cast<uint4*>(b.get()), count); }),
            "2 GiB, 16 B a thread");
  bench.add(
      "hbm.copy",
      rate(2 * size,
           [&] { check_cuda(cudaMemcpyAsync(b.get(), a.get(), bytes, cudaMemcpyDeviceToDevice), "cudaMemcpyAsync"); }),
      "cudaMemcpy of 2 GiB, read and written bytes together");
  constexpr unsigned lines = 1u << 22;  // 512 MiB
  link_kernel<<<1024, 256>>>(static_cast<unsigned*>(a.get()), lines, 1664525u);
  const double clock = bench.find("clock.most") != nullptr ? bench.find("clock.most")->value : 1.98e9;
  const L2Flush flush;
  std::vector<double> samples;
  for (int i = 0; i < bench.repeats(); ++i) {
    flush.enqueue(nullptr);
    samples.push_back(run_timed(Chase{static_cast<const unsigned*>(a.get())}, {1, 1, 0}, 4000).cycles / 4000 / clock);
  }
  bench.add("hbm.latency", samples, "4000 dependent loads spread over 512 MiB, L2 flushed before");
}

}  // namespace tilescope::validate
