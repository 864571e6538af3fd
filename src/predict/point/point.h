// One question to the model: this schedule or kernel, on this workload, with these formats and tiles, on this GPU.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/checked.h"
#include "diagram/conventions.h"
#include "predict/point/plan.h"
#include "predict/point/time_choices.h"

namespace tilescope {

// How DRAM traffic is found: a closed form over waves of blocks, or a walk of all blocks through the cache.
enum class L2Model { closed, walk };
template <>
struct EnumTable<L2Model> {
  static constexpr std::array rows{NamedKind{L2Model::closed, "closed"}, NamedKind{L2Model::walk, "walk"}};
};

struct Point {
  Workload workload;
  Mask mask;
  std::array<Dtype, max_arrays> dtypes{};            // by ArrayId
  std::array<std::int64_t, max_parameters> tiles{};  // by position in Schedule::parameters
  std::int64_t warps = 4;
  std::int64_t stages = 0;                              // of a kernel's variants that differ in them; 0: any
  std::array<std::int64_t, max_arrays> row_multiple{};  // by ArrayId: rows in memory are padded to this many elements
  std::int64_t blocks_per_unit = 0;                     // resident blocks a unit; 0: derived from the footprint
  L2Model l2 = L2Model::closed;
  double drift = 0;  // of the walk: blocks' steps take up to this part longer
  TimeChoices time{};
};

// A point with the schedule's default tiles, fp16 everywhere but the fp32 log-sum-exp, and the kernel's row padding.
Point default_point(const Plan& plan);

// Sets the format of every array whose dtype key matches: "" means all values (not l, acc: statistics and accumulators;
// not index), "kv" means k and v. False: no such key.
bool set_dtype(Point& point, const Diagram& diagram, const std::string& key, Dtype dtype);
void set_formats(Point& point, const Diagram& diagram, const FormatChoice& choice);

// Whether the point's arrays that any island moves have these formats.
bool has_formats(const Plan& plan, const Point& point, const FormatChoice& choice);

// Whether a variant is built for the point's head dimensions and formats, whatever its tile.
bool serves(const Plan& plan, const Point& point, const KernelVariant& variant);

// The built variant that the point selects; nullptr for an assumed implementation.
const KernelVariant* selected_variant(const Plan& plan, const Point& point);

// Gives the point the tile and warps of a built variant.
void take_variant(Point& point, const Schedule& schedule, const KernelVariant& variant);

// Bytes of a value where each has whole ones and no scales; else 0.
constexpr std::int64_t whole_bytes(const Dtype& dtype) {
  return dtype.scale_group == 0 && bits(dtype.format) % 8 == 0 ? bits(dtype.format) / 8 : 0;
}

// Bytes of `values` elements of an array with their scales, by rows of its last axis (row_bytes); rows that a tile cuts
// count as one long row. Without the scale of the whole array.
std::int64_t bytes_of_rows(const Point& point, const Diagram& diagram, ArrayId id, std::int64_t values);
inline std::int64_t bytes_of(const Point& point, const Diagram& diagram, ArrayId id, std::int64_t values) {
  const std::int64_t each = whole_bytes(point.dtypes[index(id)]);
  return each > 0 ? checked_mul(values, each) : bytes_of_rows(point, diagram, id, values);
}

std::int64_t value_bytes_of(const Point& point, const Diagram& diagram, ArrayId id,
                            std::int64_t values);  // the same without scales

// Bytes of the scale of the whole array; 0: it has none.
std::int64_t array_scale_bytes(const Point& point, ArrayId id);

// The same as bytes_of for whole rows as they lie in memory, with their padding, which the kernel moves along.
std::int64_t padded_row_bytes(const Point& point, const Diagram& diagram, ArrayId id, std::int64_t values);
inline std::int64_t padded_bytes_of(const Point& point, const Diagram& diagram, ArrayId id, std::int64_t values) {
  return point.row_multiple[index(id)] <= 1 ? bytes_of(point, diagram, id, values)
                                            : padded_row_bytes(point, diagram, id, values);
}

}  // namespace tilescope
