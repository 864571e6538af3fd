// Carries out instructions on values that follow from the index of a thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "kernel/code/sass/instruction.h"

namespace tilescope {

constexpr int warp_threads = 32, followed_warps = 32;
constexpr std::array followed_lanes{0, 1, 31};  // of each warp: enough to see where threads of a warp differ
constexpr int threads_followed = static_cast<int>(followed_lanes.size());

using ThreadValue = std::array<std::uint32_t, followed_warps * threads_followed>;  // predicates are 0 or 1

ThreadValue uniform_value(std::uint32_t value);

struct ThreadResult {
  RegisterSpan target;
  ThreadValue value;
};
using KnownValue = std::function<std::optional<ThreadValue>(const RegisterSpan&)>;

// The results whose values are known; of instructions that are not carried out, none.
std::vector<ThreadResult> thread_results(const Instruction& instruction, const KnownValue& known);

}  // namespace tilescope
