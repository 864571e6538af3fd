#include "common/softmax.h"

#include <fmt/format.h>

#include <limits>

#include "common/family.h"
#include "common/launch.h"

namespace tilescope::kernels {

namespace {

constexpr std::int64_t sector_bytes = 32;

}  // namespace

std::int64_t score_pitch(const Shape& shape, std::size_t element_bytes) {
  return round_up(shape.kv_len, sector_bytes / static_cast<std::int64_t>(element_bytes));
}

std::size_t score_matrix_bytes(const Shape& shape, std::size_t element_bytes) {
  const std::int64_t elements = shape.batch * shape.heads_q * shape.q_len * score_pitch(shape, element_bytes);
  return static_cast<std::size_t>(round_up(elements * static_cast<std::int64_t>(element_bytes), 256));
}

std::string score_row_problem(const Shape& shape) {
  if (shape.kv_len <= device::softmax_max_row) return {};  // a multiple of every padding
  return fmt::format("kv_len {} is too long: the row softmax holds a row in registers, at most {} keys; use fused_mma",
                     shape.kv_len, device::softmax_max_row);
}

std::string grid_x_problem(std::int64_t blocks, const char* island) {
  if (blocks <= std::numeric_limits<std::int32_t>::max()) return {};
  return fmt::format("{} would need {} blocks in grid x; a launch holds at most {}", island, blocks,
                     std::numeric_limits<std::int32_t>::max());
}

Launch softmax_launch(const void* function, const Shape& shape, const void* scores, void* weights, std::int64_t pitch) {
  const device::SoftmaxParams params{scores, weights, static_cast<int>(pitch)};
  const dim3 grid(static_cast<unsigned>(shape.q_len), static_cast<unsigned>(shape.heads_q),
                  static_cast<unsigned>(shape.batch));
  return make_launch("softmax", function, {grid, device::softmax_threads, 0}, params);
}

}  // namespace tilescope::kernels
