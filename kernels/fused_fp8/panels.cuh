// Tiles of 1-byte elements in shared memory: where a 16-byte chunk lies, and how wgmma reads the tile.
#pragma once

#include "common/shared_tile.cuh"
#include "common/wgmma.cuh"

namespace tilescope::kernels::fused_fp8 {

using namespace device;

// Stores, as rows of V^T, what load_matrices_transposed read of 16 keys and 32 columns of 1-byte elements; the address
// is that of row t % 32. Thread t has two keys of two columns, {2q, 2q + 1} x {2c, 2c + 1} with q = t % 4, c = t / 4;
// two of them, eight keys apart, are regrouped to four keys of column 2c and of column 2c + 1.
__device__ __forceinline__ void store_regrouped(std::uint32_t address, const Fragment4& f) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};\n" ::"r"(address),
               "r"(__byte_perm(f.r[0], f.r[1], 0x6420)), "r"(__byte_perm(f.r[0], f.r[1], 0x7531)),
               "r"(__byte_perm(f.r[2], f.r[3], 0x6420)), "r"(__byte_perm(f.r[2], f.r[3], 0x7531))
               : "memory");
}

// Tiles whose rows of `bytes` lie in panels of `row` bytes, swizzled by that many (common/tma.h).
template <int bytes>
struct Panels {
  static constexpr int row = bytes < 128 ? bytes : 128, count = bytes / row;
  static_assert(row == 128 || row == 64 || row == 32);
  static __device__ __forceinline__ std::uint32_t chunk(int r, int c) {  // place of 16-byte chunk c of row r
    const int place = c ^ (row == 128 ? r & 7 : row == 64 ? r >> 1 & 3 : r >> 2 & 1);
    return static_cast<std::uint32_t>(r * row + place * 16);
  }
  static __device__ __forceinline__ std::uint64_t k_major(std::uint32_t address) {
    if constexpr (row == 128) return device::k_major(address);
    constexpr std::uint64_t swizzle = row == 64 ? 2 : 3, rows_8 = 8 * row;
    constexpr std::uint64_t layout = swizzle << 62 | rows_8 >> 4 << 32 | std::uint64_t{1} << 16;
    return layout | (address & 0x3ffff) >> 4;
  }
};

}  // namespace tilescope::kernels::fused_fp8
