// How long an SM waits for lines that another one has loaded: those of its own partition are near.
#pragma once

#include "validate/microbench/memory/span.cuh"

namespace tilescope::validate {

// On one SM: one thread loads line after line and notes how long each takes (null: only loads). Loading a line again
// would find it in the SM's own partition, wherever it belongs.
static __global__ void line_latency_kernel(const unsigned* data, int lines, int stride, unsigned sm, unsigned* cycles) {
  const unsigned own = own_sm();
  if (threadIdx.x != 0 || own != sm) return;
  unsigned offset = 0;
  for (int i = 0; i < lines; ++i) {
    const unsigned* at = data + static_cast<std::size_t>(i) * stride;
    unsigned v;
    const long long begin = clock64();
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(at + offset) : "memory");
    offset = v & 1u;  // zero, but what follows must wait for it
    const long long end = clock64() + offset;
    if (cycles != nullptr) cycles[i] = static_cast<unsigned>(end - begin);
  }
}

// Lines far apart, of many slices, in a buffer of zeros.
class LineLatency {
 public:
  LineLatency(const unsigned* data, int lines, int units)
      : data_(data),
        lines_(lines),
        units_(static_cast<unsigned>(units)),
        cycles_(sizeof(unsigned) * static_cast<std::size_t>(lines)) {}

  // Clocks of each line's load by SM `sm`, after SM 0 has loaded them all.
  std::vector<double> seen_by(unsigned sm) const {
    constexpr int stride = 32 * 33;  // words
    flush_.enqueue(nullptr);
    line_latency_kernel<<<units_, 32>>>(data_, lines_, stride, 0, nullptr);
    line_latency_kernel<<<units_, 32>>>(data_, lines_, stride, sm, static_cast<unsigned*>(cycles_.get()));
    check_cuda(cudaDeviceSynchronize(), "measuring latencies");
    std::vector<unsigned> host(static_cast<std::size_t>(lines_));
    check_cuda(cudaMemcpy(host.data(), cycles_.get(), cycles_.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return {host.begin(), host.end()};
  }

 private:
  const unsigned* data_;
  int lines_;
  unsigned units_;
  DeviceBuffer cycles_;
  L2Flush flush_;
};

}  // namespace tilescope::validate
