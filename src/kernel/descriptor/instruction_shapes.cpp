#include "kernel/descriptor/instruction_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/contains.h"

namespace tilescope {
namespace {

// PTX ISA, mma: shapes with k of 16-bit operands, which other operands fill with as many bits.
struct SyncShape {
  MmaShape shape;
  double least_capability;
};
constexpr std::array sync_shapes{SyncShape{{8, 8, 4}, 7.0}, SyncShape{{8, 8, 8}, 7.5}, SyncShape{{16, 8, 8}, 7.5},
                                 SyncShape{{16, 8, 16}, 8.0}};

// PTX ISA, mma, target ISA notes: the first compute capability that has a format in each of these shapes; 0: none has.
struct SyncFormat {
  Format format;
  std::array<double, sync_shapes.size()> least_capability;
};
constexpr std::array sync_formats{
    SyncFormat{Format::fp16, {7.0, 0, 7.5, 8.0}},    SyncFormat{Format::bf16, {0, 0, 8.0, 8.0}},
    SyncFormat{Format::tf32, {0, 0, 8.0, 8.0}},      SyncFormat{Format::int8, {0, 7.5, 8.0, 8.0}},
    SyncFormat{Format::int4, {0, 7.5, 8.0, 8.0}},    SyncFormat{Format::fp8_e4m3, {0, 0, 8.9, 8.9}},
    SyncFormat{Format::fp8_e5m2, {0, 0, 8.9, 8.9}},  SyncFormat{Format::fp6_e2m3, {0, 0, 0, 12.0}},
    SyncFormat{Format::fp6_e3m2, {0, 0, 0, 12.0}},   SyncFormat{Format::fp4_e2m1, {0, 0, 0, 12.0}},
    SyncFormat{Format::mxfp8_e4m3, {0, 0, 0, 12.0}}, SyncFormat{Format::mxfp8_e5m2, {0, 0, 0, 12.0}},
    SyncFormat{Format::mxfp6_e2m3, {0, 0, 0, 12.0}}, SyncFormat{Format::mxfp6_e3m2, {0, 0, 0, 12.0}},
    SyncFormat{Format::mxfp4, {0, 0, 0, 12.0}},      SyncFormat{Format::nvfp4, {0, 0, 0, 12.0}}};

// PTX ISA, wgmma.mma_async.
constexpr std::int64_t group_rows = 64, group_column_step = 8, group_most_columns = 256, group_depth = 16;
constexpr std::array group_formats{Format::fp16,     Format::bf16,     Format::tf32,
                                   Format::fp8_e4m3, Format::fp8_e5m2, Format::int8};

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

std::optional<double> least_capability(TensorPath path, const MmaShape& shape, Format format) {
  if (path == TensorPath::wgmma && !contains(group_formats, format)) return std::nullopt;
  const SyncShape* const sync = path == TensorPath::mma_sync ? find_sync(shape) : nullptr;
  if (!sync) return properties(path).least_capability;
  const auto* const row = std::find_if(sync_formats.begin(), sync_formats.end(),
                                       [&](const SyncFormat& each) { return each.format == format; });
  const double least =
      row == sync_formats.end() ? 0 : row->least_capability[static_cast<std::size_t>(sync - sync_shapes.data())];
  return least > 0 ? std::optional(least) : std::nullopt;
}

}  // namespace tilescope
