// Which launches CUPTI times. Activity records and callbacks cost a host-bound program more than everything else that a
// capture does, so by default they are on only while launches of kinds that are still new are under way, and in short
// windows. Between windows launches are recorded by hooks, without CUPTI; where there are none callbacks stay on.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "validate/capture/inject/recorder.h"

namespace tilescope::capture {

class Durations {
 public:
  static Durations& instance();  // never destroyed

  // `mode`: all, sampled or none. Returns false when CUPTI delivers no times here.
  bool start(std::string_view mode);
  // Launches pass hooks, so that CUPTI's callbacks for them are needed in windows alone. Before the first launch.
  void hooked(void (*call_back_launches)(bool on));
  // A launch was called back that no hook has seen: callbacks stay on. Returns whether it is the first.
  bool missed_by_hooks();
  // Before a launch that is not counted, in its thread.
  void launches(const LaunchArguments& arguments) {
    if (sampled_.load(std::memory_order_relaxed)) sample(arguments);
  }
  // Kernels of CUDA graphs are known by their times alone, so all are timed from now on.
  void graph_made();
  // Of the delivery thread, every tick_us: windows begin and end here. Returns whether records may wait for delivery.
  bool tick();
  static constexpr std::int64_t tick_us = 20'000;
  // What the capture says about its times; empty if every launch is timed.
  std::string_view note() const;

 private:
  static constexpr std::uint8_t timed_launches = 20;  // of a kind, before only windows time it
  static constexpr std::int64_t new_kind_us = 20'000, window_us = 20'000, period_us = 500'000, delivery_us = 200'000;

  void sample(const LaunchArguments& arguments);
  void on();
  void off();

  std::atomic<bool> sampled_ = false, tracing_ = false;  // tracing_: a window is open
  std::atomic<bool> hooked_ = false;
  bool times_ = true;  // windows have times
  void (*call_back_launches_)(bool on) = nullptr;
  std::atomic<std::int64_t> until_us_ = 0;                  // tracing is on until then
  std::int64_t next_window_us_ = 0, next_delivery_us_ = 0;  // of the delivery thread
  std::mutex mutex_;                                        // of the switch
  std::string_view note_;
  // Launches of each kind; two kinds that share a place are timed less often.
  std::array<std::atomic<std::uint8_t>, 1 << 16> seen_{};
};

}  // namespace tilescope::capture
