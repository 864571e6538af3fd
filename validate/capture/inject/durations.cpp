#include "validate/capture/inject/durations.h"

#include <cupti.h>

#include <algorithm>
#include <chrono>

#include "validate/capture/inject/hash.h"

namespace tilescope::capture {
namespace {

constexpr CUpti_ActivityKind kernels = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;

std::int64_t now_us() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

}  // namespace

Durations& Durations::instance() {
  static Durations& durations = *new Durations;
  return durations;
}

bool Durations::start(std::string_view mode) {
  if (mode == "none") {
    note_ = "no launch has a time (--durations none)";
    times_ = false;
    return true;
  }
  if (cuptiActivityEnable(kernels) != CUPTI_SUCCESS) return false;
  tracing_ = true;
  if (mode == "all") return true;
  note_ = "times are sampled (--durations sampled): the first launches of each kind, then 20 ms in each 500 ms";
  next_window_us_ = now_us() + period_us;
  sampled_ = true;
  return true;
}

void Durations::hooked(void (*call_back_launches)(bool on)) {
  if (times_ && !sampled_) return;  // every launch is timed, and CUPTI tells times by the numbers of its callbacks
  call_back_launches_ = call_back_launches, hooked_ = true;
  next_window_us_ = now_us() + period_us;
  tracing_ = true, sampled_ = true;
}

bool Durations::missed_by_hooks() { return hooked_.exchange(false); }

std::string_view Durations::note() const { return note_; }

void Durations::on() {
  const std::lock_guard lock(mutex_);
  if (tracing_) return;
  if (call_back_launches_ != nullptr) call_back_launches_(true);
  if (!times_ || cuptiActivityEnable(kernels) == CUPTI_SUCCESS) tracing_ = true;
}

void Durations::off() {
  const std::lock_guard lock(mutex_);
  if (!sampled_ || !tracing_ || now_us() < until_us_) return;
  if (times_ && cuptiActivityDisable(kernels) != CUPTI_SUCCESS) return;
  if (hooked_) call_back_launches_(false);
  tracing_ = false;
}

void Durations::sample(const LaunchArguments& a) {
  std::uint64_t key = mixed(reinterpret_cast<std::uint64_t>(a.function), a.grid[0]);
  key = mixed(key, std::uint64_t{a.grid[1]} << 32 | a.grid[2]);
  key = mixed(key, std::uint64_t{a.block[0]} << 32 | a.block[1] << 16 | a.block[2]);
  auto& seen = seen_[key % seen_.size()];
  const std::uint8_t before = seen.load(std::memory_order_relaxed);
  if (before >= timed_launches) return;
  seen.store(before + 1, std::memory_order_relaxed);
  until_us_.store(now_us() + new_kind_us, std::memory_order_relaxed);
  if (!tracing_.load(std::memory_order_relaxed)) on();
}

void Durations::graph_made() {
  if (!sampled_.exchange(false)) return;
  on();
}

bool Durations::tick() {
  const std::int64_t now = now_us();
  const bool traced = tracing_;
  bool ended = false;
  if (sampled_ && now >= next_window_us_) {
    until_us_ = std::max<std::int64_t>(until_us_, now + window_us);
    next_window_us_ = now + period_us;
    on();
  } else if (sampled_ && traced) {
    off();
    ended = !tracing_;
  }
  if (!traced || (!ended && now < next_delivery_us_)) return false;
  next_delivery_us_ = now + delivery_us;
  return true;
}

}  // namespace tilescope::capture
