// What a simulated SM has been asked for a launch's steps, so that a synthesised program is made once.
#pragma once

#include <forward_list>
#include <mutex>

#include "simulate/step_programs.h"

namespace tilescope {

struct AskedStep {
  double steps = 0;  // of the launch, of which this is the mean one
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

  // The one for so many steps; `make` returns it the first time. What this returns stays where it is.
  template <class Make>
  const AskedStep& of(double steps, const Make& make) {
    const std::lock_guard lock(mutex_);
    for (const AskedStep& one : known_)
      if (one.steps == steps) return one;
    return known_.emplace_front(make());
  }

 private:
  mutable std::mutex mutex_;
  std::forward_list<AskedStep> known_;
};

}  // namespace tilescope
