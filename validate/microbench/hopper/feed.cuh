// One thread that issues TMA copies of 16 KiB pieces into shared memory, with a few in flight.
#pragma once

#include "common/mbarrier.cuh"
#include "validate/microbench/memory/span.cuh"

namespace tilescope::validate {

constexpr int piece = 16384;

struct Feed {
  const char* from;            // in global memory, 64 pieces
  std::uint32_t to, barriers;  // in shared memory: `in_flight` pieces; as many mbarriers of one arrival
  int in_flight;

  // Copies pieces while `more(count)` is true and waits for the last one. Returns their number.
  template <class More>
  __device__ __forceinline__ int operator()(More more) const {
    namespace device = kernels::device;
    int asked = 0, come = 0;
    const auto wait = [&] {
      device::wait_barrier(barriers + 8 * static_cast<unsigned>(come % in_flight), come / in_flight & 1);
      ++come;
    };
    while (more(asked)) {
      if (asked - come == in_flight) wait();
      const unsigned slot = static_cast<unsigned>(asked % in_flight);
      device::arrive_expect(barriers + 8 * slot, piece);
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                       to + slot * piece),
                   "l"(from + asked % 64 * piece), "r"(piece), "r"(barriers + 8 * slot)
                   : "memory");
      ++asked;
    }
    while (come < asked) wait();
    return asked;
  }
};

}  // namespace tilescope::validate
