// Latency of lines that another SM has loaded. Lines of the SM's own L2 partition are near.
#pragma once

#include "validate/microbench/memory/span.cuh"

namespace tilescope::validate {

// On one SM, one thread loads line after line and records the latency of each (null: records nothing). Each line is
// loaded once, because a second load would hit the SM's own partition, whichever partition owns the line.
static __global__ void line_latency_kernel(const unsigned* data, int lines, int stride, unsigned sm, unsigned* cycles) {
  const unsigned own = own_sm();
  if (threadIdx.x != 0 || own != sm) return;
  unsigned offset = 0;
  for (int i = 0; i < lines; ++i) {
    const unsigned* at = data + static_cast<std::size_t>(i) * stride;
    unsigned v;
    const long long begin = clock64();
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(at + offset) : "memory");
    offset = v & 1u;  // zero, but the next load depends on it
    const long long end = clock64() + offset;
    if (cycles != nullptr) cycles[i] = static_cast<unsigned>(end - begin);
  }
}

// Lines that are far apart, in many L2 slices, in a buffer of zeros.
class LineLatency {
 public:
  LineLatency(const unsigned* data, int lines, int units)
      : data_(data),
        lines_(lines),
        units_(static_cast<unsigned>(units)),
        cycles_(sizeof(unsigned) * static_cast<std::size_t>(lines)) {}

  // Clocks of the loads of all lines by SM `sm`, after SM 0 has loaded them all.
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
