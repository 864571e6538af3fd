// Tile copies by the tensor memory accelerator. One thread issues a copy of a whole tile; see common/tma.h for its
// layout.
#pragma once

#include <cuda.h>

#include "common/mbarrier.cuh"

namespace tilescope::kernels::device {

// L2 eviction policy of a load: keep lines that many blocks read again, evict first the lines that are read once.
constexpr std::uint64_t evict_first = 0x12f0000000000000, evict_last = 0x14f0000000000000;

__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];\n" ::"l"(map) : "memory");
}

// Loads the box at the coordinates (innermost first) and completes its bytes, out-of-range ones included, on `barrier`.
__device__ __forceinline__ void load_tile(std::uint32_t destination, const CUtensorMap* map, std::uint32_t barrier,
                                          int c0, int c1, int c2, int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3,%4,%5,%6}], "
      "[%2];\n" ::"r"(destination),
      "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}
__device__ __forceinline__ void load_tile(std::uint32_t destination, const CUtensorMap* map, std::uint32_t barrier,
                                          int c0, int c1, int c2, int c3, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%3,%4,%5,%6}], [%2], %7;\n" ::"r"(destination),
      "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "l"(policy)
      : "memory");
}
__device__ __forceinline__ void load_tile(std::uint32_t destination, const CUtensorMap* map, std::uint32_t barrier,
                                          int c0, int c1, int c2) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3,%4,%5}], [%2];\n" ::
          "r"(destination),
      "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2)
      : "memory");
}

// Stores the box; out-of-range rows are left out. The writers of `source` must have executed fence_async_proxy before.
__device__ __forceinline__ void store_tile(const CUtensorMap* map, std::uint32_t source, int c0, int c1, int c2,
                                           int c3) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2,%3,%4,%5}], [%1];\n" ::"l"(map),
               "r"(source), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
               : "memory");
}
__device__ __forceinline__ void store_tile(const CUtensorMap* map, std::uint32_t source, int c0, int c1, int c2) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2,%3,%4}], [%1];\n" ::"l"(map),
               "r"(source), "r"(c0), "r"(c1), "r"(c2)
               : "memory");
}

__device__ __forceinline__ void commit_stores() { asm volatile("cp.async.bulk.commit_group;\n" ::: "memory"); }
// Waits until this thread's stores have read their shared memory. It may be overwritten afterwards.
__device__ __forceinline__ void wait_stores_read() { asm volatile("cp.async.bulk.wait_group.read 0;\n" ::: "memory"); }
// Waits until this thread's stores are done.
__device__ __forceinline__ void wait_stores() { asm volatile("cp.async.bulk.wait_group 0;\n" ::: "memory"); }

}  // namespace tilescope::kernels::device
