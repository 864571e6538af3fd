#include "validate/measure/timing.h"

#include <algorithm>
#include <cmath>

#include "validate/measure/cuda_check.h"

namespace tilescope::validate {
namespace {

constexpr double warm_up_seconds = 0.2, shortest_sample = 200e-6;
// Of a host with CUPTI: 3.7 to 6.4 us a launch in eleven runs of the microbenchmarks, with a margin.
constexpr double seconds_to_queue = 10e-6, surely_longer = 20e-6;
constexpr double most_queued = 1000;  // launches that a stream takes before the host has to wait

class Event {
 public:
  Event() { check_cuda(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record() { check_cuda(cudaEventRecord(event_, nullptr), "cudaEventRecord"); }
  void wait() { check_cuda(cudaEventSynchronize(event_), "running the kernel"); }
  double seconds_since(const Event& start) const {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, start.event_, event_), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

void run(const std::vector<kernels::Launch>& launches, int times) {
  for (int i = 0; i < times; ++i) {
    for (const kernels::Launch& launch : launches) launch.enqueue(nullptr);
  }
}

std::vector<double> cold_samples(const std::vector<kernels::Launch>& launches, const L2Flush& flush, int repeats) {
  std::vector<double> samples;
  Event start, stop;
  for (int i = 0; i < repeats; ++i) {
    flush.enqueue(nullptr);
    start.record();
    run(launches, 1);
    stop.record();
    stop.wait();
    samples.push_back(stop.seconds_since(start));
  }
  return samples;
}

}  // namespace

Timing time_launches(const std::vector<kernels::Launch>& launches, const L2Flush& flush, int cold_repeats,
                     int steady_repeats, const Nvml& nvml) {
  Timing timing;
  const std::optional<int> before = nvml.processes();
  run(launches, 1);  // loads the code
  timing.cold = cold_samples(launches, flush, cold_repeats);
  const double once = std::max(1e-6, *std::min_element(timing.cold.begin(), timing.cold.end()));
  const int batch = static_cast<int>(std::ceil(std::max(1.0, shortest_sample / once)));
  run(launches, static_cast<int>(std::ceil(warm_up_seconds / once)));
  const double count = static_cast<double>(launches.size());
  if (once < surely_longer * count)
    enqueue_wait(std::min(most_queued, count * batch * steady_repeats) * seconds_to_queue, nullptr);
  std::vector<Event> marks(static_cast<std::size_t>(steady_repeats) + 1);
  marks.front().record();
  for (std::size_t i = 1; i < marks.size(); ++i) {
    run(launches, batch);
    marks[i].record();
  }
  marks[marks.size() / 2].wait();
  timing.clocks = nvml.now();
  marks.back().wait();
  if (const std::optional<int> after = nvml.processes(); timing.clocks && before && after)
    timing.clocks->other_processes = std::max(0, std::max(*before, *after) - 1);  // this one has the GPU open too
  for (std::size_t i = 1; i < marks.size(); ++i) {
    timing.steady.push_back(marks[i].seconds_since(marks[i - 1]) / batch);
  }
  return timing;
}

}  // namespace tilescope::validate
