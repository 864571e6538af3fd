// Synchronisation of warp-specialised kernels on sm_90: mbarriers in shared memory, named barriers, proxy fences and
// the hand-over of registers between warpgroups. Each function is one instruction (wait_barrier: a loop of one).
//
// A phase of an mbarrier completes when its arrivals and its expected bytes are both in; the parity that a wait names
// is that of the phase it waits for: 0, 1, 0, 1, ... A wait for parity 1 on a fresh barrier returns at once, which is
// what a producer's first round over empty buffers needs.
#pragma once

#include "common/tensor_core.cuh"

namespace tilescope::kernels::device {

__device__ __forceinline__ void init_barrier(std::uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes initialised barriers visible to TMA; a block-wide barrier must follow for the other threads.
__device__ __forceinline__ void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
}

__device__ __forceinline__ void arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(barrier) : "memory");
}

// Arrives and makes the phase wait for `bytes` of TMA loads too.
__device__ __forceinline__ void arrive_expect(std::uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void wait_barrier(std::uint32_t barrier, int parity) {
  asm volatile(
      "{\n .reg .pred done;\n"
      "again:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      " @done bra finished;\n bra again;\n"
      "finished:\n}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// What this thread wrote to shared memory becomes visible to TMA and wgmma (which read through another proxy).
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory"); }

// Named barriers 1 to 15 (0 is __syncthreads); `threads` counts the arriving and the waiting ones, a multiple of 32.
__device__ __forceinline__ void sync_named(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;\n" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ __forceinline__ void arrive_named(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;\n" ::"r"(barrier), "r"(threads) : "memory");
}

// Sets the registers per thread of the executing warpgroup (all four warps); a multiple of 8 in 24 to 256.
template <int registers>
__device__ __forceinline__ void give_up_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(registers));
}
template <int registers>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(registers));
}

// True in one lane of the executing warp, the same at each call; all lanes must be active.
__device__ __forceinline__ bool elect_lane() {
  std::uint32_t elected;
  asm volatile("{\n .reg .pred p;\n elect.sync _|p, 0xffffffff;\n selp.b32 %0, 1, 0, p;\n}\n" : "=r"(elected));
  return elected != 0;
}

}  // namespace tilescope::kernels::device
