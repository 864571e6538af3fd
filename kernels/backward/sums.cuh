// The memory layout of the dQ sums that the kernels pass to each other.
#pragma once

namespace tilescope::kernels::backward {

// The fp32 sums of dQ, a query tile at a time: 64 x 64 parts, one a consumer warpgroup, in the order in which its
// threads hold them. Of the eight runs of 128 x 4 values of a part, run i holds 16 columns 16 (i / 2) and on: of each
// thread t the four that lie in row sum_row(part, t) + 8 (i % 2), columns 2 (t % 4), + 1, + 8, + 9.
template <int tile_q>
__device__ constexpr int sum_row(int part, int t) {
  return (tile_q == 128 ? part * 64 : 0) + t / 32 * 16 + t % 32 / 4;
}

}  // namespace tilescope::kernels::backward
