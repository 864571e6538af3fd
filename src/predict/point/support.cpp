#include "predict/point/support.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <span>

#include "base/contains.h"
#include "base/text.h"
#include "kernel/descriptor/instruction_shapes.h"
#include "predict/point/products.h"

namespace tilescope {
namespace {

// "128x64 with 4 warps": the sizes a variant states, in the schedule's order.
std::string tile_text(const Schedule& schedule, std::span<const std::int64_t> sizes, const KernelVariant& stated,
                      std::int64_t warps, std::int64_t stages) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < schedule.parameters.size(); ++i)
    if (stated.tile(schedule.parameters[i].name) > 0) parts.push_back(std::to_string(sizes[i]));
  return fmt::format("{} with {} warps{}", join(parts, "x"), warps,
                     stages > 0 ? fmt::format(" and {} stages", stages) : "");
}

std::string tile_list(const Plan& plan, const Point& point) {
  std::vector<std::string> tiles;
  for (const KernelVariant& v : plan.kernel.variants) {
    if (!serves(plan, point, v)) continue;
    std::array<std::int64_t, max_parameters> sizes{};
    for (std::size_t i = 0; i < plan.schedule.parameters.size(); ++i)
      sizes[i] = v.tile(plan.schedule.parameters[i].name);
    tiles.push_back(tile_text(plan.schedule, sizes, v, v.warps, v.stages));
  }
  return tiles.empty() ? "none" : join(tiles, ", ");
}

bool is_value(const Array& array) {
  return array.dtype_key != "l" && array.dtype_key != "acc" && array.dtype_key != "index";
}

// One format for all arrays is looked at array by array; kernels with mixed formats are built for whole combinations.
void check_formats(const Plan& plan, const Point& point, std::vector<std::string>& found) {
  const KernelDescriptor& kernel = plan.kernel;
  if (kernel.formats.empty()) return;
  const auto uniform = [](const FormatChoice& choice) { return choice.size() == 1; };
  if (!std::all_of(kernel.formats.begin(), kernel.formats.end(), uniform)) {
    std::vector<std::string> built;
    for (const FormatChoice& choice : kernel.formats) {
      if (has_formats(plan, point, choice)) return;
      built.push_back(to_string(choice));
    }
    found.push_back(
        fmt::format("kernel '{}' is not built for these formats; built: --dtype {}", kernel.name, join(built, " or ")));
    return;
  }
  for (std::size_t i = 0; i < plan.schedule.diagram.arrays.size(); ++i) {
    const Array& array = plan.schedule.diagram.arrays[i];
    if (!is_value(array)) continue;
    if (!contains(kernel.dtypes, point.dtypes[i]))
      found.push_back(
          fmt::format("kernel '{}' has no {} path for {}", kernel.name, to_string(point.dtypes[i]), array.name));
    else if (!plan.assumed && point.dtypes[i] != point.dtypes[0])
      found.push_back(fmt::format("kernel '{}' takes one dtype for all arrays, found {} for {}", kernel.name,
                                  to_string(point.dtypes[i]), array.name));
  }
}

void check_head_dims(const Plan& plan, const Point& point, std::vector<std::string>& found) {
  const KernelDescriptor& kernel = plan.kernel;
  const Workload& w = point.workload;
  const auto own_depth = [](const KernelVariant& variant) { return variant.v_head_dim > 0; };
  if (!plan.assumed && w.d_v != w.d_qk && std::none_of(kernel.variants.begin(), kernel.variants.end(), own_depth))
    found.push_back(
        fmt::format("kernel '{}' needs v_head_dim = head_dim, found {} and {}", kernel.name, w.d_v, w.d_qk));
}

// Sizes that no variant states are the schedule's, unless the host chooses them.
void check_fixed_sizes(const Plan& plan, const Point& point, std::vector<std::string>& found) {
  const KernelDescriptor& kernel = plan.kernel;
  for (std::size_t i = 0; i < plan.schedule.parameters.size() && !kernel.variants.empty(); ++i) {
    const Parameter& parameter = plan.schedule.parameters[i];
    if (kernel.variants.front().tile(parameter.name) == 0 && !kernel.is_free(parameter.name) &&
        point.tiles[i] != parameter.default_value)
      found.push_back(fmt::format("kernel '{}' is built for tile {} = {} only, found {}", kernel.name, parameter.name,
                                  parameter.default_value, point.tiles[i]));
  }
}

void check_tile(const Plan& plan, const Point& point, std::vector<std::string>& found) {
  const KernelDescriptor& kernel = plan.kernel;
  if (kernel.variants.empty()) return;
  const KernelVariant* built = selected_variant(plan, point);
  if (!built || (point.stages > 0 && built->stages == 0 && point.stages != stages_of(kernel, Point{})))
    found.push_back(
        fmt::format("kernel '{}' has no tile {} at head_dim {}; built: {}", kernel.name,
                    tile_text(plan.schedule, point.tiles, kernel.variants.front(), point.warps, point.stages),
                    point.workload.d_qk, tile_list(plan, point)));
}

void check_launch(const HardwareProfile& hardware, const Point& point, std::vector<std::string>& found) {
  if (const auto& held = hardware.max_warps_per_unit; held && point.warps > held->value)
    found.push_back(fmt::format("a block has {} warps; {} holds at most {} in one {}", point.warps, hardware.id,
                                held->value, hardware.unit_name));
  if (!hardware.max_threads_per_block || !hardware.warp_size) return;
  const std::int64_t threads = point.warps * hardware.warp_size->value, most = hardware.max_threads_per_block->value;
  if (threads > most)
    found.push_back(fmt::format("a block of {} warps has {} threads; {} takes at most {}", point.warps, threads,
                                hardware.id, most));
}

// The largest sizes that the kernel states.
void check_limits(const KernelDescriptor& kernel, const Workload& w, std::vector<std::string>& found) {
  const auto limit = [&](const char* name, std::int64_t largest, std::int64_t given) {
    if (largest > 0 && given > largest)
      found.push_back(fmt::format("kernel '{}' takes a {} of at most {}, found {}", kernel.name, name, largest, given));
  };
  limit("head_dim", kernel.largest_head_dim, w.d_qk);
  limit("q_len", kernel.largest_q_len, w.q_len);
  limit("kv_len", kernel.largest_kv_len, w.kv_len);
}

// An instruction that a launch executes, and which GPUs have it.
struct NeededInstruction {
  std::string name;
  std::string_view vendor, only_on;
  double least_capability;
};

// "mma.sync m16n8k16", "wgmma".
std::string instruction_text(const TensorPathRow& path, const MmaShape& mma) {
  return std::string(path.name) + (path.warpgroup ? "" : fmt::format(" m{}n{}k{}", mma.m, mma.n, mma.k));
}

// Launches without products may state no copy: the default of loads_by says nothing of them.
std::vector<NeededInstruction> needed_instructions(const KernelDescriptor& kernel) {
  std::vector<NeededInstruction> needed;
  const auto add = [&](const IslandImplementation& how) {
    const TensorPathRow& path = how.path();
    const auto add_shape = [&](const MmaShape& mma) {
      needed.push_back(
          {instruction_text(path, mma), path.vendor, path.only_on, least_capability(how.tensor_path, mma)});
    };
    if (how.uses_tensor_cores()) add_shape(how.mma);
    for (const ProductImplementation& product : how.products)
      if (product.mma && how.uses_tensor_cores()) add_shape(*product.mma);
    if (how.tensor_path == TensorPath::none) return;
    for (const CopyPathRow* copy : {&how.load(), &how.store()})
      needed.push_back({fmt::format("copies by {}", copy->name), copy->vendor, {}, copy->least_capability});
  };
  for (const IslandImplementation& how : kernel.islands) add(how);
  for (const IslandImplementation& how : kernel.others) add(how);
  return needed;
}

// Whether the path has an instruction for the format of each product. The first without one is named, unless
// unsupported_on() refuses the kernel anyway.
void check_product_formats(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                           std::vector<std::string>& found) {
  if (plan.assumed || hardware.vendor != "NVIDIA") return;
  const double capability = std::strtod(hardware.compute_capability.c_str(), nullptr);
  bool named = false;
  const auto check = [&](const IslandImplementation& how, const Operator& op) {
    if (!how.uses_tensor_cores() || op.kind != OperatorKind::contraction || op.inputs.size() != 2) return;
    const ProductImplementation* own = how.find_product(op.name);
    MmaShape mma = own && own->mma ? *own->mma : how.mma;
    const Format format = described_format(how, op, point);
    const std::optional<double> least = least_capability(how.tensor_path, mma, format);
    if (named || (least && capability >= *least) || !unsupported_on(plan, hardware).empty()) return;
    named = true;
    mma.k = mma.k * 16 / operand_bits(format);
    found.push_back(fmt::format("kernel '{}' computes {} by {} of {}, which {}; choose another --dtype{}",
                                plan.kernel.name, op.name, instruction_text(how.path(), mma), to_string(format),
                                least ? fmt::format("needs compute capability {:.1f} or later, {} has {}", *least,
                                                    hardware.id, hardware.compute_capability)
                                      : "no GPU has",
                                least ? " or GPU" : " or state another computes_in"));
  };
  const auto& operators = plan.schedule.diagram.operators;
  for (const auto* list : {&plan.kernel.islands, &plan.kernel.others})
    for (const IslandImplementation& how : *list)
      for (const Island& island : plan.schedule.islands)
        for (const int number : island.operators)
          if (island.name == how.name) check(how, operators[static_cast<std::size_t>(number)]);
}

}  // namespace

std::int64_t stages_of(const KernelDescriptor& kernel, const Point& point) {
  std::int64_t most = 1;
  for (const IslandImplementation& island : kernel.islands)
    if (island.uses_tensor_cores()) most = std::max(most, island.stages);
  return point.stages > 0 ? point.stages : most;
}

NamedSizes named_sizes(const HardwareProfile& hardware, const Workload& w) {
  const auto real = [](std::int64_t size) { return static_cast<double>(size); };
  return {{"batch", real(w.batch)},       {"heads_q", real(w.heads_q)},
          {"heads_kv", real(w.heads_kv)}, {"q_len", real(w.q_len)},
          {"kv_len", real(w.kv_len)},     {"head_dim", real(w.d_qk)},
          {"v_head_dim", real(w.d_v)},    {"multiprocessors", real(hardware.units.value)}};
}

std::vector<std::string> outside_shapes(const KernelDescriptor& kernel, const HardwareProfile& hardware,
                                        const Workload& workload) {
  std::vector<std::string> found;
  check_limits(kernel, workload, found);
  if (kernel.shapes.empty()) return found;
  NamedSizes sizes = named_sizes(hardware, workload);
  if (kernel.host_splits)
    sizes["splits"] = static_cast<double>(chosen_splits(*kernel.host_splits, hardware.units.value, sizes));
  const auto broken = std::find_if(kernel.shapes.begin(), kernel.shapes.end(),
                                   [&](const ShapeRule& rule) { return !rule.when.holds(sizes); });
  if (broken != kernel.shapes.end())
    found.push_back(fmt::format("kernel '{}' is launched where {}, found {}: {}{}", kernel.name, broken->when.text(),
                                broken->when.values_in(sizes), broken->reason,
                                broken->instead.empty() ? "" : fmt::format("; use --kernel {}", broken->instead)));
  return found;
}

std::vector<std::string> unsupported(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  const KernelDescriptor& kernel = plan.kernel;
  std::vector<std::string> found;
  check_formats(plan, point, found);
  if (!contains(kernel.masks, point.mask.kind))
    found.push_back(fmt::format("kernel '{}' has no mask '{}'; it has {}", kernel.name, to_string(point.mask.kind),
                                join(to_strings(kernel.masks), ", ")));
  check_head_dims(plan, point, found);
  check_launch(hardware, point, found);
  check_product_formats(plan, hardware, point, found);
  check_fixed_sizes(plan, point, found);
  const std::int64_t d = point.workload.d_qk;
  const bool built = kernel.head_dims.empty() || contains(kernel.head_dims, d);
  if (built) check_tile(plan, point, found);
  else
    found.push_back(fmt::format("kernel '{}' is not built for head_dim {}; built: {}", kernel.name, d,
                                fmt::join(kernel.head_dims, ", ")));
  return found;
}

std::string unsupported_on(const Plan& plan, const HardwareProfile& hardware) {
  if (plan.assumed) return {};
  const KernelDescriptor& kernel = plan.kernel;
  if (kernel.least_compute_capability > 0 && hardware.vendor != "NVIDIA")
    return fmt::format("kernel '{}' is CUDA code, {} is a GPU of {}", kernel.name, hardware.id, hardware.vendor);
  const double capability = std::strtod(hardware.compute_capability.c_str(), nullptr);
  for (const NeededInstruction& needed : needed_instructions(kernel)) {
    const std::string uses = fmt::format("kernel '{}' uses {}, which", kernel.name, needed.name);
    if (!needed.vendor.empty() && hardware.vendor != needed.vendor)
      return fmt::format("{} only GPUs of {} have; {} is a GPU of {}", uses, needed.vendor, hardware.id,
                         hardware.vendor);
    if (!needed.only_on.empty() && hardware.compute_capability != needed.only_on)
      return fmt::format("{} only compute capability {} has; {} has {}", uses, needed.only_on, hardware.id,
                         hardware.compute_capability);
    if (capability < needed.least_capability)
      return fmt::format("{} needs compute capability {:.1f} or later; {} has {}", uses, needed.least_capability,
                         hardware.id, hardware.compute_capability);
  }
  if (capability >= kernel.least_compute_capability || kernel.least_compute_capability == 0) return {};
  return fmt::format("kernel '{}' needs compute capability {:.1f} or later, {} has {}", kernel.name,
                     kernel.least_compute_capability, hardware.id, hardware.compute_capability);
}

}  // namespace tilescope
