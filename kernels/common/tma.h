// Tensor maps: the description of an array for the tensor memory accelerator (TMA) of sm_90.
//
// A tile of `rows` rows lies in shared memory as panels of 128 bytes of each row: panel p holds bytes [128 p, 128 p +
// 128) of every row, rows 128 bytes apart, 16-byte chunks XOR-swizzled by the row (SWIZZLE_128B). That is the layout
// which the descriptors of common/wgmma.cuh name; a panel must start at a multiple of 1024 bytes.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <vector>

namespace tilescope::kernels {

// Sizes in elements, the innermost dimension first; strides in bytes of all but the innermost. Rows of the box are
// swizzled by 128 bytes where the innermost box size is 128 bytes, by 64 or 32 where it is that. DeviceError where the
// driver is too old or refuses, with the sizes.
CUtensorMap make_tensor_map(const void* array, int element_bytes, const std::vector<std::uint64_t>& sizes,
                            const std::vector<std::uint64_t>& strides, const std::vector<std::uint32_t>& box);

// A dense array [outer][rows][columns] for loads of whole tiles of `box_rows` rows and all columns: dimensions (element
// of a panel, row, panel, outer), coordinates (0, row, 0, outer). A panel is 128 bytes of a row, or the whole row where
// it is shorter. Rows past the end read as zeros, which count as bytes from L2 like the others (H200), and are not
// written.
CUtensorMap make_tile_map(const void* array, int element_bytes, std::int64_t columns, std::int64_t rows,
                          std::int64_t outer, int box_rows);

}  // namespace tilescope::kernels
