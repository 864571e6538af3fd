// Formats and variants of a descriptor.
#include "base/contains.h"
#include "diagram/conventions.h"
#include "kernel/descriptor/read_fields.h"

namespace tilescope::reading {
namespace {

std::optional<Dtype> read_dtype(const Node& node) {
  const std::string name = node.text();
  if (name.empty()) return std::nullopt;
  const auto dtype = parse_dtype(name);
  if (!dtype) node.report(fmt::format("'{}' is not a dtype{}", name, did_you_mean(name, dtype_names())));
  return dtype;
}

std::vector<std::string> format_keys(const Diagram& diagram) {
  std::vector<std::string> keys = dtype_keys(diagram);
  if (contains(keys, "k")) keys.insert(keys.begin(), "kv");
  keys.insert(keys.begin(), "all");
  return keys;
}

// {all: fp16, kv: "int4:g32:b2"}; nullopt after a finding, as what is left could repeat another choice.
std::optional<FormatChoice> read_choice(const Node& map, const std::vector<std::string>& keys) {
  FormatChoice choice;
  bool whole = map.find("all").has_value();
  const auto all = map.find("all");
  if (!all) map.report("lacks 'all', the format of the arrays that it does not name");
  else if (const auto dtype = read_dtype(*all)) choice.emplace_back("", *dtype);
  else whole = false;
  for (const auto& [key, node] : map.entries()) {
    if (key == "all") continue;
    if (!contains(keys, key)) {
      node.report(fmt::format("no array takes the key '{}'{}", key, did_you_mean(key, keys)));
      whole = false;
    } else if (const auto dtype = read_dtype(node)) {
      choice.emplace_back(key, *dtype);
    } else {
      whole = false;
    }
  }
  return whole ? std::optional(choice) : std::nullopt;
}

}  // namespace

std::vector<FormatChoice> read_formats(const Node& list, const Diagram& diagram) {
  std::vector<FormatChoice> formats;
  const std::vector<std::string> keys = format_keys(diagram);
  const auto is_choice = [&](const Node& item) {
    return item.is_map() &&
           std::any_of(keys.begin(), keys.end(), [&](const std::string& key) { return item.find(key).has_value(); });
  };
  for (const Node& item : list.items()) {
    if (is_choice(item)) {
      if (const auto choice = read_choice(item, keys)) add_once(formats, *choice, item);
    } else if (const auto dtype = read_dtype(item)) {
      add_once(formats, FormatChoice{{"", *dtype}}, item);
    }
  }
  return formats;
}

void read_ages(const Node& node, const char* key, std::vector<double>& ages) {
  const auto list = node.find(key);
  if (!list) return;
  for (const Node& item : list->items()) ages.push_back(item.number(0, 1 << 20));
  if (ages.size() != local_ages) list->report(fmt::format("expected {} numbers, found {}", local_ages, ages.size()));
}

LocalMemory read_local(const Node& node) {
  node.only(
      {"frame", "stored_step", "loaded_step", "stored", "loaded", "stored_after", "loaded_after", "waits", "least_l1"});
  LocalMemory local{.frame = node["frame"].integer(4, 1 << 20)};
  const auto number = [&](const char* key, double& value) {
    if (const auto found = node.find(key)) value = found->number(0, 1 << 20);
  };
  number("stored_step", local.stored_step), number("loaded_step", local.loaded_step);
  number("stored", local.stored), number("loaded", local.loaded);
  number("waits", local.waits);
  read_ages(node, "stored_after", local.stored_after);
  read_ages(node, "loaded_after", local.loaded_after);
  if (const auto least = node.find("least_l1")) local.least_l1 = least->boolean();
  return local;
}

namespace {

// Of a variant, what machine code and launches tell: in `variants` of a summary of code.
const std::vector<std::string> found_in_code{
    "consumer_registers", "producer_registers", "l1_reads", "smem_bytes", "smem_extra_bytes", "spills", "local",
    "waits_each",         "pipelined"};

}  // namespace

KernelVariant read_variant(const Node& node, const Schedule& schedule, const std::vector<FormatChoice>& kernel_formats,
                           bool of_code) {
  KernelVariant variant;
  const auto integer = [&](const char* key, std::int64_t least, std::int64_t most, std::int64_t& value) {
    if (const auto found = node.find(key)) value = found->integer(least, most);
  };
  std::vector<std::string> keys{"head_dim", "v_head_dim", "tile_q",         "tile_kv",       "warps",
                                "stages",   "dtypes",     "consumer_warps", "registers_hold"};
  keys.insert(keys.end(), found_in_code.begin(), found_in_code.end());
  if (!of_code) refuse_found(node, found_in_code, "'variants' of 'code'");
  for (const Parameter& parameter : schedule.parameters) {
    const std::string key = "tile_" + parameter.name;
    if (key == "tile_q" || key == "tile_kv") continue;
    keys.push_back(key);
    if (const auto size = node.find(key)) variant.other_tiles[parameter.name] = size->integer(1, 1 << 20);
  }
  node.only(keys);
  variant.head_dim = node["head_dim"].integer(0, 4096);
  integer("v_head_dim", 1, 4096, variant.v_head_dim);
  variant.tile_q = node["tile_q"].integer(1, 1 << 20);
  variant.tile_kv = node["tile_kv"].integer(1, 1 << 20);
  variant.warps = node["warps"].integer(1, 64);
  integer("stages", 1, 64, variant.stages);
  integer("consumer_warps", 1, 64, variant.consumer_warps);
  integer("consumer_registers", 24, 255, variant.consumer_registers);
  integer("producer_registers", 24, 255, variant.producer_registers);
  if (const auto formats = node.find("dtypes")) {
    variant.formats = read_formats(*formats, schedule.diagram);
    for (const FormatChoice& choice : variant.formats)
      if (!contains(kernel_formats, choice) && !kernel_formats.empty())
        formats->report(fmt::format("{} is not among the kernel's dtypes", to_string(choice)));
  }
  if (const auto held = node.find("registers_hold")) variant.registers_hold = read_array_names(*held, schedule.diagram);
  if (const auto read = node.find("l1_reads")) variant.l1_reads = read_array_names(*read, schedule.diagram);
  integer("smem_bytes", 0, 1 << 30, variant.smem_bytes);
  if (const auto bytes = node.find("smem_extra_bytes")) variant.smem_extra_bytes = bytes->integer(0, 1 << 30);
  const auto spills = node.find("spills"), local = node.find("local");
  if (spills) variant.spills = spills->boolean();
  if (spills && local && spills->is_scalar() && spills->text() == "false")
    spills->report("contradicts local, which says how much; leave it out");
  if (local) variant.local = read_local(*local), variant.spills = true;
  if (const auto each = node.find("waits_each")) variant.waits_each = each->boolean();
  if (const auto pipelined = node.find("pipelined")) variant.pipelined = pipelined->boolean();
  return variant;
}

}  // namespace tilescope::reading

namespace tilescope {

std::string to_string(const FormatChoice& choice) {
  std::vector<std::string> parts;
  for (const auto& [key, dtype] : choice)
    parts.push_back(key.empty() ? to_string(dtype) : key + "=" + to_string(dtype));
  return join(parts, ",");
}

}  // namespace tilescope
