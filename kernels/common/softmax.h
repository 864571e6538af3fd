// The materialised score matrices S and P and the row softmax between them, shared by the two unfused kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernel_api.h"

namespace tilescope::kernels {
namespace device {

constexpr int softmax_threads = 256;
constexpr int softmax_max_values = 128;  // fp32 values a thread holds at most
constexpr int softmax_max_row = softmax_threads * softmax_max_values;

struct SoftmaxParams {
  const void* s;
  void* p;
  int pitch;  // elements between rows of S and P, a multiple of 16 bytes' worth; padding holds -inf in S
};

}  // namespace device

// Elements between rows of S and P: kv_len rounded up so that rows start at multiples of 32 bytes, the sector in which
// L2 serves and takes data (16 elements of 2 bytes, 8 of 4). The padding is written (P: zeros) and read like the rest.
std::int64_t score_pitch(const Shape& shape, std::size_t element_bytes);
// Bytes of S (or P): batch x heads_q x q_len rows of score_pitch elements, rounded up to 256.
std::size_t score_matrix_bytes(const Shape& shape, std::size_t element_bytes);
// Why the row softmax cannot take rows this long, or empty.
std::string score_row_problem(const Shape& shape);
// Why `blocks` blocks do not fit grid x, or empty.
std::string grid_x_problem(std::int64_t blocks, const char* island);
// `function`: an instance of device::row_softmax; `pitch`: score_pitch.
Launch softmax_launch(const void* function, const Shape& shape, const void* scores, void* weights, std::int64_t pitch);

}  // namespace tilescope::kernels
