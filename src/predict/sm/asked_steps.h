// Simulation requests for a launch's steps, kept so that a program is synthesised once.
#pragma once

#include <forward_list>
#include <mutex>
#include <utility>

#include "simulate/step_programs.h"

namespace tilescope {

struct AskedStep {
  StepQuestion question{};
  bool synthesised = false;  // of a program that the counts imply, not of machine code
};

// Threads may ask at once. A copy begins with what is known.
class AskedSteps {
 public:
  AskedSteps() = default;
  AskedSteps(const AskedSteps& other) {
    const std::lock_guard lock(other.mutex_);
    known_ = other.known_;
  }
  AskedSteps& operator=(const AskedSteps&) = delete;

  // The one for the mean of so many steps; `make` returns it the first time. What this returns stays where it is.
  template <class Make>
  const AskedStep& of(double steps, const Make& make) {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, one] : known_)
      if (number == steps) return one;
    return known_.emplace_front(steps, make()).second;
  }

 private:
  mutable std::mutex mutex_;
  std::forward_list<std::pair<double, AskedStep>> known_;
};

}  // namespace tilescope
