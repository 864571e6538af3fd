// What a thread does in a loop, followed without the parameters of a launch.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernel/code/summary/code_summary.h"
#include "kernel/code/trace/thread_run.h"

namespace tilescope {

// Of each instruction's block, how many jumps lead to the block `target`.
std::vector<std::uint32_t> distances_to(const CodeSummary& code, std::size_t target);

// The block that an instruction stands in.
std::size_t block_of(const CodeSummary& code, std::size_t instruction);

// The first lane of a warp, where the threads of a block are a row, or 32 wide.
std::array<std::uint32_t, 3> first_lane(bool wide, std::int64_t warp);
TracedLaunch launch_of_warps(bool wide, std::int64_t warps);

// A thread that stays in a loop as long as the code does not say that it ends.
class FollowedLoop {
 public:
  FollowedLoop(const CodeSummary& code, std::size_t loop, std::int64_t warp);

  // Passes of an inner loop in each pass of the loop, where the code alone decides.
  std::optional<std::int64_t> passes_of(std::size_t inner) const;
  // Passes of the loop for each wait for a barrier in shared memory, where those waits are regular.
  std::optional<std::int64_t> passes_of_wait() const;
  // Bytes for which barriers wait that the thread arms in the loop.
  std::vector<std::int64_t> expected_bytes() const;

 private:
  std::int64_t executed_at(std::uint64_t address) const;
  const CodeSummary& code_;
  std::size_t loop_;
  ThreadRun run_;
  std::int64_t passes_ = 0;
};

}  // namespace tilescope
