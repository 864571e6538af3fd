#include "predict/descriptor.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "config/reader.h"

namespace tilescope {
namespace {

constexpr double most_operations = 1000;

WorkRates read_rates(const Node& node) {
  node.only({"per_score", "per_row_step", "per_row", "per_output_step", "per_output"});
  const auto rate = [&](const char* key) {
    const auto found = node.find(key);
    return found ? found->number(0, most_operations) : 0.0;
  };
  return {rate("per_score"), rate("per_row_step"), rate("per_row"), rate("per_output_step"), rate("per_output")};
}

MmaShape read_mma(const Node& node) {
  node.only({"m", "n", "k"});
  return {node["m"].integer(1, 1024), node["n"].integer(1, 1024), node["k"].integer(1, 1024)};
}

void read_work(const Node& node, IslandImplementation& island) {
  node.only({"xu", "ffma", "fadd", "fmul"});
  for (int i = 0; i < pipe_count; ++i)
    if (const auto rates = node.find(to_string(static_cast<Pipe>(i)))) island.work[static_cast<std::size_t>(i)] = read_rates(*rates);
}

bool is_one_of(const Node& node, const std::vector<std::string>& choices) {
  return node.is_scalar() && std::find(choices.begin(), choices.end(), node.text()) != choices.end();
}

// After a finding `item` may hold a placeholder, which is no repetition.
template <class T>
void add_once(std::vector<T>& list, const T& value, const Node& item) {
  const bool repeated = std::find(list.begin(), list.end(), value) != list.end();
  if (repeated && item.is_scalar()) item.report(fmt::format("'{}' is listed twice", item.text()));
  if (!repeated) list.push_back(value);
}

IslandImplementation read_island(const Node& node, const Schedule& schedule) {
  static const std::vector<std::string> paths{"tensor", "mma.sync", "wgmma", "fma", "none"};
  static const std::vector<std::string> dimensions{"q", "kv", "heads", "batch"};
  node.only({"name", "stores_log_sum_exp", "writes_masked_rows", "row_store", "tensor_path", "mma", "row_replication", "row_multiple", "stages", "output_through_smem",
             "block_order", "warp_grid", "work"});
  IslandImplementation island;
  std::vector<std::string> names;
  for (const Island& candidate : schedule.islands) names.push_back(candidate.name);
  island.name = node["name"].one_of(names);
  if (const auto stores = node.find("stores_log_sum_exp")) island.stores_log_sum_exp = stores->boolean();
  if (const auto writes = node.find("writes_masked_rows")) island.writes_masked_rows = writes->boolean();
  if (const auto rows = node.find("row_store")) island.row_store = rows->integer(1, 1024);
  const Node path = node["tensor_path"];
  island.tensor_path = path.one_of(paths);
  if (const auto mma = node.find("mma")) island.mma = read_mma(*mma);
  else if (is_one_of(path, paths) && island.uses_tensor_cores()) node.report("a tensor path needs the instruction's shape 'mma: {m, n, k}'");
  if (const auto replication = node.find("row_replication")) island.row_replication = replication->integer(1, 1024);
  if (const auto multiple = node.find("row_multiple")) island.row_multiple = multiple->integer(1, 1 << 20);
  if (const auto stages = node.find("stages")) island.stages = stages->integer(1, 64);
  if (const auto staged = node.find("output_through_smem")) island.output_through_smem = staged->boolean();
  for (const Node& item : node["block_order"].items()) {
    const std::string dimension = item.one_of(dimensions);
    if (is_one_of(item, dimensions)) add_once(island.block_order, dimension, item);
  }
  if (const auto grid = node.find("warp_grid")) {
    grid->only({"q", "kv", "d_v"});
    for (const auto& [axis, count] : grid->entries()) island.warp_grid[axis] = count.integer(1, 64);
  }
  if (const auto work = node.find("work")) read_work(*work, island);
  return island;
}

std::vector<std::string> array_names(const Diagram& diagram) {
  std::vector<std::string> names;
  for (const Array& array : diagram.arrays) names.push_back(array.name);
  return names;
}

KernelVariant read_variant(const Node& node, const Diagram& diagram) {
  node.only({"head_dim", "tile_q", "tile_kv", "warps", "registers_hold", "smem_bytes", "spills"});
  KernelVariant variant;
  variant.head_dim = node["head_dim"].integer(0, 4096);
  variant.tile_q = node["tile_q"].integer(1, 1 << 20);
  variant.tile_kv = node["tile_kv"].integer(1, 1 << 20);
  variant.warps = node["warps"].integer(1, 64);
  if (const auto held = node.find("registers_hold"))
    for (const Node& item : held->items()) {
      const std::string name = item.text();
      if (name.empty()) continue;
      if (!diagram.find_array(name))
        item.report(fmt::format("'{}' is not an array of diagram '{}'{}", name, diagram.name, did_you_mean(name, array_names(diagram))));
      add_once(variant.registers_hold, name, item);
    }
  if (const auto smem = node.find("smem_bytes")) variant.smem_bytes = smem->integer(0, 1 << 30);
  if (const auto spills = node.find("spills")) variant.spills = spills->boolean();
  return variant;
}

void read_support(const Node& root, KernelDescriptor& kernel) {
  static const std::vector<std::string> masks{"none", "causal", "window", "block-sparse"};
  for (const Node& item : root["dtypes"].items()) {
    const std::string name = item.text();
    if (name.empty()) continue;
    const auto dtype = parse_dtype(name);
    if (dtype) add_once(kernel.dtypes, *dtype, item);
    else item.report(fmt::format("'{}' is not a dtype{}", name, did_you_mean(name, dtype_names())));
  }
  for (const Node& item : root["head_dims"].items()) add_once(kernel.head_dims, item.integer(1, 4096), item);
  const Node mask_list = root["masks"];
  for (const Node& item : mask_list.items()) {
    const std::string mask = item.one_of(masks);
    if (is_one_of(item, masks)) add_once(kernel.masks, mask, item);
  }
  if (mask_list.is_list() && mask_list.items().empty()) mask_list.report("is an empty list; list at least 'none'");
}

// The schedule's islands, each implemented once, in the schedule's order.
void order_islands(const Node& list, const Schedule& schedule, KernelDescriptor& kernel) {
  std::vector<IslandImplementation> ordered;
  for (const Island& island : schedule.islands) {
    const auto matches = [&](const IslandImplementation& candidate) { return candidate.name == island.name; };
    const auto count = std::count_if(kernel.islands.begin(), kernel.islands.end(), matches);
    if (count != 1)
      list.report(fmt::format("island '{}' of schedule '{}' must be described once, found {} times", island.name, schedule.name, count));
    else ordered.push_back(*std::find_if(kernel.islands.begin(), kernel.islands.end(), matches));
  }
  kernel.islands = std::move(ordered);
}

}  // namespace

std::string to_string(Pipe pipe) {
  static const std::array<std::string, pipe_count> names{"xu", "ffma", "fadd", "fmul"};
  return names[static_cast<std::size_t>(pipe)];
}

bool KernelVariant::holds(const std::string& array) const {
  return std::find(registers_hold.begin(), registers_hold.end(), array) != registers_hold.end();
}

std::int64_t KernelVariant::tile(std::string_view parameter) const {
  return parameter == "q" ? tile_q : parameter == "kv" ? tile_kv : 0;
}

KernelDescriptor load_descriptor(const std::filesystem::path& file, const std::filesystem::path& models_directory) {
  const Document document = Document::load(file);
  document.expect_schema("tilescope/kernel/1");
  const Node root = document.root();
  root.only({"schema", "kernel", "schedule", "summary", "dtypes", "head_dims", "masks", "limits", "padded_rows", "islands", "variants"});
  KernelDescriptor kernel;
  kernel.file = file.string();
  kernel.name = root["kernel"].text();
  kernel.summary = root["summary"].text();
  kernel.schedule_name = root["schedule"].one_of(shipped_names(models_directory / "schedules"));
  if (!document.clean()) document.finish();
  const Schedule schedule = find_schedule(kernel.schedule_name, models_directory);
  read_support(root, kernel);
  if (const auto limits = root.find("limits")) {
    limits->only({"head_dim", "kv_len", "compute_capability"});
    if (const auto head_dim = limits->find("head_dim")) kernel.largest_head_dim = head_dim->integer(1, 4096);
    if (const auto kv_len = limits->find("kv_len")) kernel.largest_kv_len = kv_len->integer(1, std::int64_t{1} << 40);
    if (const auto capability = limits->find("compute_capability")) kernel.least_compute_capability = capability->number(1, 99);
  }
  if (const auto padded = root.find("padded_rows"))
    for (const auto& [array, multiple] : padded->entries()) {
      if (!schedule.diagram.find_array(array))
        multiple.report(fmt::format("'{}' is not an array of diagram '{}'{}", array, schedule.diagram.name,
                                    did_you_mean(array, array_names(schedule.diagram))));
      kernel.padded_rows[array] = multiple.integer(1, 4096);
    }
  for (const Node& node : root["islands"].items()) kernel.islands.push_back(read_island(node, schedule));
  if (document.clean()) order_islands(root["islands"], schedule, kernel);  // after a finding, names may be placeholders
  for (const Node& node : root["variants"].items()) {
    const KernelVariant variant = read_variant(node, schedule.diagram);
    const auto same = [&](const KernelVariant& v) {
      return std::tie(v.head_dim, v.tile_q, v.tile_kv, v.warps) == std::tie(variant.head_dim, variant.tile_q, variant.tile_kv, variant.warps);
    };
    if (document.clean() && std::any_of(kernel.variants.begin(), kernel.variants.end(), same))
      node.report(fmt::format("tile {}x{} with {} warps at head_dim {} is listed twice; remove one", variant.tile_q, variant.tile_kv,
                              variant.warps, variant.head_dim));
    kernel.variants.push_back(variant);
  }
  document.finish();
  return kernel;
}

}  // namespace tilescope
