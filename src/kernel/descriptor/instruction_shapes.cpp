#include "kernel/descriptor/instruction_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tilescope {
namespace {

// PTX ISA, mma: shapes with k of 16-bit operands, which other operands fill with as many bits.
struct SyncShape {
  MmaShape shape;
  double least_capability;
};
constexpr std::array sync_shapes{SyncShape{{8, 8, 4}, 7.0}, SyncShape{{8, 8, 8}, 7.5}, SyncShape{{16, 8, 8}, 7.5},
                                 SyncShape{{16, 8, 16}, 8.0}};

// PTX ISA, wgmma.mma_async.
constexpr std::int64_t group_rows = 64, group_column_step = 8, group_most_columns = 256, group_depth = 16;

const SyncShape* find_sync(const MmaShape& shape) {
  const auto* const found = std::find_if(sync_shapes.begin(), sync_shapes.end(), [&](const SyncShape& each) {
    return each.shape.m == shape.m && each.shape.n == shape.n && each.shape.k == shape.k;
  });
  return found == sync_shapes.end() ? nullptr : found;
}

}  // namespace

std::string expected_shape(TensorPath path, const MmaShape& shape) {
  if (path == TensorPath::mma_sync && !find_sync(shape)) {
    std::string shapes;
    for (const SyncShape& each : sync_shapes)
      shapes += fmt::format("{}{{m: {}, n: {}, k: {}}}", shapes.empty() ? "" : ", ", each.shape.m, each.shape.n,
                            each.shape.k);
    return "one of " + shapes;
  }
  const bool columns = shape.n % group_column_step == 0 && shape.n <= group_most_columns;  // 0: those of the tile
  if (path == TensorPath::wgmma && (shape.m != group_rows || !columns || shape.k != group_depth))
    return fmt::format("m: {}, n: columns or a multiple of {} up to {}, k: {}", group_rows, group_column_step,
                       group_most_columns, group_depth);
  return {};
}

double least_capability(TensorPath path, const MmaShape& shape) {
  const SyncShape* const sync = path == TensorPath::mma_sync ? find_sync(shape) : nullptr;
  return std::max(properties(path).least_capability, sync ? sync->least_capability : 0.0);
}

}  // namespace tilescope
