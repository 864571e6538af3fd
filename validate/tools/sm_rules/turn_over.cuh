// A tile of 1-byte elements turned over in shared memory, as the programs of this folder do it.
#pragma once

#include "set_up.cuh"

// 16 bytes a lane of 8 x 8 matrices.
__device__ __forceinline__ void load_turned(unsigned (&r)[4], std::uint32_t at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(at)
               : "memory");
}
__device__ __forceinline__ void store_matrices(std::uint32_t to, const unsigned (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(to), "r"(r[0]), "r"(r[1]),
               "r"(r[2]), "r"(r[3])
               : "memory");
}
__device__ __forceinline__ void store_regrouped(std::uint32_t to, const unsigned (&r)[4]) {
  const unsigned regrouped[4] = {__byte_perm(r[0], r[1], 0x6420), __byte_perm(r[0], r[1], 0x7531),
                                 __byte_perm(r[2], r[3], 0x6420), __byte_perm(r[2], r[3], 0x7531)};
  store_matrices(to, regrouped);
}
