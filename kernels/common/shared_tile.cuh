// A tile of 2-byte elements in shared memory: `rows` rows of `columns` elements, 16-byte chunks XOR-swizzled by the
// row (chunk c of row r lies at place c ^ (r & 7)), so that the eight rows one ldmatrix phase touches fall into eight
// different groups of four banks. Rows are multiples of 128 bytes and tiles start at multiples of 128 bytes.
#pragma once

#include "common/tensor_core.cuh"

namespace tilescope::kernels::device {

// threadIdx.x, read again at each call: what is computed from it cannot be hoisted out of a loop, where it would
// occupy registers that the accumulators need.
__device__ __forceinline__ int thread_index_now() {
  int index;
  asm volatile("mov.u32 %0, %%tid.x;\n" : "=r"(index));
  return index;
}

template <int columns>
struct SharedTile {
  static constexpr int pitch = columns * 2;        // bytes a row
  static constexpr int chunks = columns * 2 / 16;  // 16-byte chunks a row
  static_assert(pitch % 128 == 0, "the swizzle permutes the eight chunks of each 128-byte segment");

  static __device__ __forceinline__ std::uint32_t offset(int row, int chunk) {
    return static_cast<std::uint32_t>(row * pitch + ((chunk ^ (row & 7)) << 4));
  }

  // Address of the ldmatrix operand whose lane address for column step 0 and row 0 is `lane_base`: the swizzle touches
  // bits 4-6 only, so 32-byte column steps are an XOR within 128 bytes and an addition beyond.
  static __device__ __forceinline__ std::uint32_t step(std::uint32_t lane_base, int row, int column_step) {
    return (lane_base ^ static_cast<std::uint32_t>((column_step & 3) << 5)) +
           static_cast<std::uint32_t>((column_step >> 2) * 128 + row * pitch);
  }

  // Lane addresses of the 16x16 block at row 0, column 0 for load_matrices (A operand; rows are M),
  static __device__ __forceinline__ std::uint32_t a_lane(std::uint32_t tile, int lane) {
    return tile + offset(lane & 15, lane >> 4);
  }
  // for load_matrices (B operand of two adjacent 8-wide tiles; rows are N),
  static __device__ __forceinline__ std::uint32_t b_lane(std::uint32_t tile, int lane) {
    return tile + offset((lane & 7) + ((lane >> 4) << 3), (lane >> 3) & 1);
  }
  // and for load_matrices_transposed (B operand of two adjacent 8-wide tiles; rows are K).
  static __device__ __forceinline__ std::uint32_t bt_lane(std::uint32_t tile, int lane) {
    return tile + offset(lane & 15, lane >> 4);
  }

  // `threads` threads, this one being number `thread`, start copying `rows` rows of row length `row_elements` from
  // `source` (row 0 of the tile); rows at or past `valid_rows` and chunks at or past `valid_chunks` become zeros and
  // read nothing.
  template <int rows, int threads, bool check_chunks = false>
  static __device__ __forceinline__ void copy_part(int thread, std::uint32_t tile, const void* source,
                                                   std::int64_t row_elements, int valid_rows,
                                                   int valid_chunks = chunks) {
    constexpr int rows_a_pass = threads / chunks;
    static_assert(threads % chunks == 0 && rows % rows_a_pass == 0, "every thread copies the same number of chunks");
    const int chunk = thread % chunks;
    const int first_row = thread / chunks;
    const char* from = static_cast<const char*>(source) + first_row * row_elements * 2 + chunk * 16;
#pragma unroll
    for (int pass = 0; pass < rows / rows_a_pass; ++pass) {
      const int row = first_row + pass * rows_a_pass;
      bool valid = row < valid_rows;
      if constexpr (check_chunks) valid = valid && chunk < valid_chunks;
      copy_async_16(tile + offset(row, chunk), from + pass * rows_a_pass * row_elements * 2, valid);
    }
  }

  // The same by all threads of the block.
  template <int rows, int threads, bool check_chunks = false>
  static __device__ __forceinline__ void copy_from(std::uint32_t tile, const void* source, std::int64_t row_elements,
                                                   int valid_rows, int valid_chunks = chunks) {
    copy_part<rows, threads, check_chunks>(thread_index_now(), tile, source, row_elements, valid_rows, valid_chunks);
  }

  // A pair of adjacent elements of row `row`, column block `chunk`, into the tile (the C fragment's layout: lane & 3
  // picks the pair).
  static __device__ __forceinline__ void put(std::uint32_t tile, int row, int chunk, int lane, std::uint32_t packed) {
    asm volatile("st.shared.b32 [%0], %1;\n" ::"r"(tile + offset(row, chunk) + (lane & 3) * 4), "r"(packed) : "memory");
  }

  // Stores rows [first_row, first_row + rows) of the tile to `destination` (row 0 of the tile), 16 bytes an access,
  // neighbouring lanes at neighbouring addresses. `index` counts from 0 in each group of `stride` threads that share
  // the work. Rows at or past valid_rows and chunks at or past valid_chunks are left out.
  template <int rows, int stride, class T>
  static __device__ __forceinline__ void copy_to(std::uint32_t tile, int first_row, unsigned index, T* destination,
                                                 std::int64_t row_elements, int valid_rows, int valid_chunks = chunks) {
#pragma unroll 4
    for (unsigned i = index; i < rows * chunks; i += stride) {
      const int row = first_row + static_cast<int>(i / chunks), chunk = static_cast<int>(i % chunks);
      uint4 value;
      asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3}, [%4];\n"
                   : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                   : "r"(tile + offset(row, chunk))
                   : "memory");
      if (row < valid_rows && chunk < valid_chunks) store_16(destination + row * row_elements + chunk * 8, value);
    }
  }
};

}  // namespace tilescope::kernels::device
