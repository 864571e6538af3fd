#include "predict/point.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <span>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"

namespace tilescope {
namespace {

namespace fs = std::filesystem;

// Kernel names are those of the descriptors in the folders below kernels/.
std::vector<std::pair<std::string, fs::path>> shipped_kernels(const fs::path& kernels_directory) {
  std::vector<std::pair<std::string, fs::path>> found;
  std::error_code ignored;
  for (const auto& folder : fs::directory_iterator(kernels_directory, ignored)) {
    if (!folder.is_directory()) continue;
    for (const auto& entry : fs::directory_iterator(folder.path(), ignored)) {
      const std::string file = entry.path().filename().string();
      if (file == "kernel.yaml") found.emplace_back(folder.path().filename().string(), entry.path());
      else if (file.ends_with(".kernel.yaml")) found.emplace_back(file.substr(0, file.size() - 12), entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string mask_name(const Mask& mask) {
  switch (mask.kind) {
    case Mask::Kind::none: return "none";
    case Mask::Kind::causal: return "causal";
    case Mask::Kind::window: return "window";
    case Mask::Kind::blocks: return "block-sparse";
  }
  return {};
}

// "128x64 with 4 warps": the sizes a variant states, in the schedule's order.
std::string tile_text(const Schedule& schedule, std::span<const std::int64_t> sizes, const KernelVariant& stated, std::int64_t warps) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < schedule.parameters.size(); ++i)
    if (stated.tile(schedule.parameters[i].name) > 0) parts.push_back(std::to_string(sizes[i]));
  return fmt::format("{} with {} warps", join(parts, "x"), warps);
}

std::string tile_list(const Schedule& schedule, const KernelDescriptor& kernel, std::int64_t head_dim) {
  std::vector<std::string> tiles;
  for (const KernelVariant& v : kernel.variants) {
    if (v.head_dim != 0 && v.head_dim != head_dim) continue;
    std::array<std::int64_t, max_parameters> sizes{};
    for (std::size_t i = 0; i < schedule.parameters.size(); ++i) sizes[i] = v.tile(schedule.parameters[i].name);
    tiles.push_back(tile_text(schedule, sizes, v, v.warps));
  }
  return tiles.empty() ? "none" : join(tiles, ", ");
}

}  // namespace

Plan load_plan_for_kernel(const std::string& name_or_file, const fs::path& data_directory) {
  const auto kernels = shipped_kernels(data_directory / "kernels");
  fs::path file;
  std::vector<std::string> names;
  for (const auto& [name, path] : kernels) {
    names.push_back(name);
    if (name == name_or_file) file = path;
  }
  std::error_code ignored;
  if (file.empty() && fs::is_regular_file(name_or_file, ignored)) file = name_or_file;
  if (file.empty())
    throw InputError(Diagnostic{.path = "--kernel", .message = fmt::format("no kernel or descriptor file '{}'{}", name_or_file, did_you_mean(name_or_file, names))});
  Plan plan;
  plan.kernel = load_descriptor(file, data_directory / "models");
  plan.schedule = find_schedule(plan.kernel.schedule_name, data_directory / "models");
  plan.assumed = false;
  return plan;
}

Plan load_plan_for_schedule(const std::string& name_or_file, const fs::path& data_directory, const std::string& other_diagram) {
  Plan plan;
  plan.schedule = find_schedule(name_or_file, data_directory / "models", other_diagram);
  const fs::path assumed = data_directory / "models" / "implementations" / (plan.schedule.name + ".yaml");
  std::error_code ignored;
  if (!fs::exists(assumed, ignored))
    throw InputError(Diagnostic{.file = name_or_file, .path = "schedule", .message = fmt::format("no implementation is known for schedule '{}'{}",
                                plan.schedule.name, did_you_mean(plan.schedule.name, shipped_names(data_directory / "models" / "implementations")))});
  plan.kernel = load_descriptor(assumed, data_directory / "models");
  // A file may use a shipped schedule's name for other islands.
  const auto same = [](const Island& island, const IslandImplementation& how) { return island.name == how.name; };
  if (!std::equal(plan.schedule.islands.begin(), plan.schedule.islands.end(), plan.kernel.islands.begin(), plan.kernel.islands.end(), same))
    throw InputError(Diagnostic{.file = name_or_file, .path = "islands", .message = fmt::format("are not those that {} implements", assumed.string())});
  return plan;
}

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
    const bool matches = key.empty() ? own != "l" && own != "acc" && own != "index" : key == "kv" ? own == "k" || own == "v" : own == key;
    if (matches) point.dtypes[i] = dtype, found = true;
  }
  return found;
}

std::string pass_of(const Diagram& diagram) {
  const auto gradient = diagram.find_array("dO");
  return gradient && diagram.array(*gradient).role == ArrayRole::input ? "backward" : "forward";
}

std::vector<std::string> dtype_keys(const Diagram& diagram) {
  std::vector<std::string> keys;
  for (const Array& array : diagram.arrays)
    if (std::find(keys.begin(), keys.end(), array.dtype_key) == keys.end()) keys.push_back(array.dtype_key);
  return keys;
}

const KernelVariant* selected_variant(const Plan& plan, const Point& point) {
  const auto& parameters = plan.schedule.parameters;
  for (const KernelVariant& variant : plan.kernel.variants) {
    bool same = (variant.head_dim == 0 || variant.head_dim == point.workload.d_qk) && variant.warps == point.warps;
    for (std::size_t i = 0; i < parameters.size() && same; ++i) {
      const std::int64_t built = variant.tile(parameters[i].name);
      same = built == 0 || built == point.tiles[i];
    }
    if (same) return &variant;
  }
  return nullptr;
}

void take_variant(Point& point, const Schedule& schedule, const KernelVariant& variant) {
  for (std::size_t i = 0; i < schedule.parameters.size(); ++i)
    if (const std::int64_t built = variant.tile(schedule.parameters[i].name); built > 0) point.tiles[i] = built;
  point.warps = variant.warps;
}

std::vector<std::string> unsupported(const Plan& plan, const Point& point) {
  const KernelDescriptor& kernel = plan.kernel;
  std::vector<std::string> found;
  for (std::size_t i = 0; i < plan.schedule.diagram.arrays.size(); ++i) {
    const Array& array = plan.schedule.diagram.arrays[i];
    if (array.dtype_key == "l" || array.dtype_key == "acc" || array.dtype_key == "index" || kernel.dtypes.empty()) continue;
    if (std::find(kernel.dtypes.begin(), kernel.dtypes.end(), point.dtypes[i]) == kernel.dtypes.end())
      found.push_back(fmt::format("kernel '{}' has no {} path for {}", kernel.name, to_string(point.dtypes[i]), array.name));
    else if (!plan.assumed && point.dtypes[i] != point.dtypes[0])
      found.push_back(fmt::format("kernel '{}' takes one dtype for all arrays, found {} for {}", kernel.name, to_string(point.dtypes[i]), array.name));
  }
  const std::string mask = mask_name(point.mask);
  if (std::find(kernel.masks.begin(), kernel.masks.end(), mask) == kernel.masks.end())
    found.push_back(fmt::format("kernel '{}' has no mask '{}'; it has {}", kernel.name, mask, join(kernel.masks, ", ")));
  const std::int64_t d = point.workload.d_qk;
  if (!plan.assumed && point.workload.d_v != d)
    found.push_back(fmt::format("kernel '{}' needs v_head_dim = head_dim, found {} and {}", kernel.name, point.workload.d_v, d));
  if (kernel.largest_head_dim > 0 && d > kernel.largest_head_dim)
    found.push_back(fmt::format("kernel '{}' takes a head_dim of at most {}, found {}", kernel.name, kernel.largest_head_dim, d));
  if (kernel.largest_kv_len > 0 && point.workload.kv_len > kernel.largest_kv_len)
    found.push_back(fmt::format("kernel '{}' takes a kv_len of at most {}, found {}", kernel.name, kernel.largest_kv_len, point.workload.kv_len));
  for (std::size_t i = 0; i < plan.schedule.parameters.size() && !kernel.variants.empty(); ++i) {
    const Parameter& parameter = plan.schedule.parameters[i];
    if (kernel.variants.front().tile(parameter.name) == 0 && point.tiles[i] != parameter.default_value)
      found.push_back(fmt::format("kernel '{}' is built for tile {} = {} only, found {}", kernel.name, parameter.name, parameter.default_value, point.tiles[i]));
  }
  if (!kernel.head_dims.empty() && std::find(kernel.head_dims.begin(), kernel.head_dims.end(), d) == kernel.head_dims.end()) {
    found.push_back(fmt::format("kernel '{}' is not built for head_dim {}; built: {}", kernel.name, d, fmt::join(kernel.head_dims, ", ")));
  } else if (!kernel.variants.empty() && !selected_variant(plan, point)) {
    found.push_back(fmt::format("kernel '{}' has no tile {} at head_dim {}; built: {}", kernel.name,
                                tile_text(plan.schedule, point.tiles, kernel.variants.front(), point.warps), d, tile_list(plan.schedule, kernel, d)));
  }
  return found;
}

std::string unsupported_on(const Plan& plan, const HardwareProfile& hardware) {
  if (plan.assumed || plan.kernel.least_compute_capability == 0) return {};
  if (hardware.vendor != "NVIDIA") return fmt::format("kernel '{}' is CUDA code, {} is a GPU of {}", plan.kernel.name, hardware.id, hardware.vendor);
  const double capability = std::strtod(hardware.compute_capability.c_str(), nullptr);
  if (capability >= plan.kernel.least_compute_capability) return {};
  return fmt::format("kernel '{}' needs compute capability {:.1f} or later, {} has {}", plan.kernel.name, plan.kernel.least_compute_capability,
                     hardware.id, hardware.compute_capability);
}

std::int64_t bytes_of(const Point& point, const Diagram& diagram, ArrayId id, std::int64_t values) {
  const Dtype dtype = point.dtypes[index(id)];
  const std::int64_t last = diagram.axes[index(diagram.array(id).axes.back())].size_in(point.workload);
  if (dtype.scale_group == 0 && bits(dtype.format) % 8 == 0) return checked_mul(values, bits(dtype.format) / 8);
  if (values % last != 0) return ceil_div(checked_mul(values, bits(dtype.format)), 8);  // a row cut by tiles
  const std::int64_t row_bytes = ceil_div(checked_mul(last, bits(dtype.format)), 8) +
                                 (dtype.scale_group == 0 ? 0 : ceil_div(last, dtype.scale_group) * dtype.scale_bytes);
  return checked_mul(values / last, row_bytes);
}

std::int64_t padded_bytes_of(const Point& point, const Diagram& diagram, ArrayId id, std::int64_t values) {
  const std::int64_t multiple = point.row_multiple[index(id)];
  const std::int64_t last = diagram.axes[index(diagram.array(id).axes.back())].size_in(point.workload);
  if (multiple <= 1 || values % last != 0) return bytes_of(point, diagram, id, values);
  const std::int64_t elements = checked_mul(values / last, ceil_div(last, multiple) * multiple);
  return ceil_div(checked_mul(elements, bits(point.dtypes[index(id)].format)), 8);
}

}  // namespace tilescope
