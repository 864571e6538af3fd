#include "validate/microbench/load.h"

#include <cuda_runtime_api.h>

#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "validate/measure/cuda_check.h"
#include "validate/measure/wall_clock.h"

namespace tilescope::validate {
namespace {

// Polls the energy counter, which increases in steps. Power is the energy between the first and the last step in the
// window, divided by the time between them.
class EnergyWatch {
 public:
  explicit EnergyWatch(const Nvml& nvml) : nvml_(nvml), start_(WallClock::now()) {}
  void look(bool in_window) {
    const auto energy = nvml_.energy_j();
    if (!energy || *energy == last_) return;
    const double now = seconds_since(start_);
    const bool step = last_ >= 0;
    last_ = *energy;
    if (!in_window || !step) return;
    if (steps_++ == 0) first_time_ = now, first_energy_ = *energy;
    last_time_ = now, last_energy_ = *energy;
  }
  double watts() const { return steps_ < 2 ? 0 : (last_energy_ - first_energy_) / (last_time_ - first_time_); }

 private:
  const Nvml& nvml_;
  WallClock::time_point start_;
  double last_ = -1, first_time_ = 0, first_energy_ = 0, last_time_ = 0, last_energy_ = 0;
  int steps_ = 0;
};

struct LoadEvent {
  cudaEvent_t event = nullptr;
  LoadEvent() { check_cuda(cudaEventCreate(&event), "cudaEventCreate"); }
  ~LoadEvent() { cudaEventDestroy(event); }
  LoadEvent(const LoadEvent&) = delete;
  LoadEvent& operator=(const LoadEvent&) = delete;
};

double seconds_between(const LoadEvent& start, const LoadEvent& stop) {
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, start.event, stop.event), "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace

LoadResult run_load(const Nvml& nvml, double seconds, double operations, const std::function<void()>& enqueue,
                    const std::function<double()>& clock_hz) {
  LoadEvent begin, middle, end;
  enqueue();
  check_cuda(cudaEventRecord(begin.event), "cudaEventRecord");
  enqueue();
  check_cuda(cudaEventRecord(end.event), "cudaEventRecord");
  check_cuda(cudaEventSynchronize(end.event), "running a load");
  const double once = seconds_between(begin, end);
  const int warm = static_cast<int>(std::ceil(seconds / 4 / once)),
            counted = static_cast<int>(std::ceil(seconds * 3 / 4 / once));
  EnergyWatch watch(nvml);
  for (int i = 0; i < warm; ++i) enqueue();
  check_cuda(cudaEventRecord(middle.event), "cudaEventRecord");
  for (int i = 0; i < counted; ++i) enqueue();
  check_cuda(cudaEventRecord(end.event), "cudaEventRecord");
  while (cudaEventQuery(end.event) == cudaErrorNotReady) {
    watch.look(cudaEventQuery(middle.event) == cudaSuccess);
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  check_cuda(cudaEventSynchronize(end.event), "running a load");
  return {.watts = watch.watts(),
          .clock_hz = clock_hz(),
          .operations_per_second = operations * counted / seconds_between(middle, end)};
}

double idle_watts(const Nvml& nvml, double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  EnergyWatch watch(nvml);
  const WallClock::time_point start = WallClock::now();
  while (seconds_since(start) < seconds) {
    watch.look(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return watch.watts();
}

}  // namespace tilescope::validate
