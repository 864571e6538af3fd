// Counts chosen launches: each alone in a range of CUPTI's range profiler, one group of metrics a launch, no replay.
// Nothing of the program is saved or restored; the launching thread waits for the device before and after.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>

#include "validate/capture/inject/recorder.h"

namespace tilescope::capture {

class CountedContext;

class LaunchCounting {
 public:
  static LaunchCounting& instance();  // never destroyed

  // From now on launches are counted; with `cold` each after reading through the L2.
  void switch_on(bool cold);
  bool on() const { return on_.load(std::memory_order_relaxed); }

  // Before and after a launch, in its thread. While one is counted, launches of other threads wait in `before`, which
  // says whether it counts this one.
  bool before(const LaunchArguments& arguments);
  void after(std::uint64_t call, std::uint32_t correlation);

  void context_ends(CUcontext context);

 private:
  static constexpr std::size_t most_kinds = 4096;
  static constexpr std::size_t rounds = 3;            // launches of a kind that each group counts, one after the other
  static constexpr std::size_t most_uncounted = 256;  // launches after which the profiler rests

  bool may_count(const LaunchArguments& arguments) const;
  CountedContext& current_context();
  std::size_t* launches_of_kind(const LaunchArguments& arguments);
  void give_up(const std::string& note);

  std::atomic<bool> on_ = false;
  bool cold_ = false;
  std::mutex gate_;  // held around a counted launch
  std::map<CUcontext, std::unique_ptr<CountedContext>> contexts_;
  std::set<std::string> empty_groups_;
  std::size_t uncounted_ = 0;                             // launches since the last counted one
  std::unordered_map<std::uint64_t, std::size_t> kinds_;  // launches so far by function and geometry
};

}  // namespace tilescope::capture
