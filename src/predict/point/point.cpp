#include "predict/point/point.h"

#include <algorithm>

#include "base/checked.h"

namespace tilescope {

Point default_point(const Plan& plan) {
  const Schedule& schedule = plan.schedule;
  Point point;
  for (std::size_t i = 0; i < schedule.diagram.arrays.size(); ++i) {
    const auto padded = plan.kernel.padded_rows.find(schedule.diagram.arrays[i].name);
    point.row_multiple[i] = padded == plan.kernel.padded_rows.end() ? 1 : padded->second;
  }
  for (std::size_t i = 0; i < schedule.parameters.size(); ++i) point.tiles[i] = schedule.parameters[i].default_value;
  set_dtype(point, schedule.diagram, "", Dtype{Format::fp16});
  for (const char* key : {"l", "acc"}) set_dtype(point, schedule.diagram, key, Dtype{Format::fp32});
  set_dtype(point, schedule.diagram, "index", Dtype{Format::int32});
  return point;
}

bool set_dtype(Point& point, const Diagram& diagram, const std::string& key, Dtype dtype) {
  bool found = false;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const std::string& own = diagram.arrays[i].dtype_key;
    const bool matches = key.empty()   ? own != "l" && own != "acc" && own != "index"
                         : key == "kv" ? own == "k" || own == "v"
                                       : own == key;
    if (matches) point.dtypes[i] = dtype, found = true;
  }
  return found;
}

void set_formats(Point& point, const Diagram& diagram, const FormatChoice& choice) {
  for (const auto& [key, dtype] : choice) set_dtype(point, diagram, key, dtype);
}

bool has_formats(const Plan& plan, const Point& point, const FormatChoice& choice) {
  const Diagram& diagram = plan.schedule.diagram;
  Point wanted = point;
  set_formats(wanted, diagram, choice);
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    const auto moves = [&](const Island& island) {
      return plan.schedule.reads(island, id) || plan.schedule.writes(island, id);
    };
    if (wanted.dtypes[i] != point.dtypes[i] &&
        std::any_of(plan.schedule.islands.begin(), plan.schedule.islands.end(), moves))
      return false;
  }
  return true;
}

bool serves(const Plan& plan, const Point& point, const KernelVariant& variant) {
  const Workload& w = point.workload;
  if (variant.head_dim != 0 && variant.head_dim != w.d_qk) return false;
  if (variant.v_head_dim != 0 && variant.v_head_dim != w.d_v) return false;
  const auto fits = [&](const FormatChoice& choice) { return has_formats(plan, point, choice); };
  return variant.formats.empty() || std::any_of(variant.formats.begin(), variant.formats.end(), fits);
}

const KernelVariant* selected_variant(const Plan& plan, const Point& point) {
  const auto& parameters = plan.schedule.parameters;
  for (const KernelVariant& variant : plan.kernel.variants) {
    bool same =
        variant.warps == point.warps && (point.stages == 0 || variant.stages == 0 || variant.stages == point.stages);
    for (std::size_t i = 0; i < parameters.size() && same; ++i) {
      const std::int64_t built = variant.tile(parameters[i].name);
      same = built == 0 || built == point.tiles[i];
    }
    if (same && serves(plan, point, variant)) return &variant;
  }
  return nullptr;
}

void take_variant(Point& point, const Schedule& schedule, const KernelVariant& variant) {
  for (std::size_t i = 0; i < schedule.parameters.size(); ++i)
    if (const std::int64_t built = variant.tile(schedule.parameters[i].name); built > 0) point.tiles[i] = built;
  point.warps = variant.warps, point.stages = variant.stages;
}

namespace {

// rows_bytes(dtype, rows, length): row_bytes or row_value_bytes.
template <class RowBytes>
std::int64_t bytes_by_rows(const Point& point, const Diagram& diagram, ArrayId id, std::int64_t values,
                           RowBytes rows_bytes) {
  const Dtype& dtype = point.dtypes[index(id)];
  if (const std::int64_t each = whole_bytes(dtype); each > 0) return checked_mul(values, each);
  const std::int64_t last = diagram.axes[index(diagram.array(id).axes.back())].size_in(point.workload);
  if (values % last != 0) return rows_bytes(dtype, 1, values);  // rows cut by tiles: as one
  return rows_bytes(dtype, values / last, last);
}

}  // namespace

std::int64_t bytes_of_rows(const Point& point, const Diagram& diagram, ArrayId id, std::int64_t values) {
  return bytes_by_rows(point, diagram, id, values, row_bytes);
}

std::int64_t value_bytes_of(const Point& point, const Diagram& diagram, ArrayId id, std::int64_t values) {
  return bytes_by_rows(point, diagram, id, values, row_value_bytes);
}

std::int64_t array_scale_bytes(const Point& point, ArrayId id) { return point.dtypes[index(id)].tensor_bytes; }

std::int64_t padded_row_bytes(const Point& point, const Diagram& diagram, ArrayId id, std::int64_t values) {
  const std::int64_t multiple = point.row_multiple[index(id)];
  const std::int64_t last = diagram.axes[index(diagram.array(id).axes.back())].size_in(point.workload);
  if (values % last != 0) return bytes_of(point, diagram, id, values);
  return row_bytes(point.dtypes[index(id)], values / last, ceil_div(last, multiple) * multiple);
}

}  // namespace tilescope
