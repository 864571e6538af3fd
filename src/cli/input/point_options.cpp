#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/input/options.h"
#include "cli/input/workload_file.h"
#include "diagram/block_mask.h"

namespace tilescope::cli {
namespace {

struct ExtentOption {
  const char* name;
  std::vector<Extent> extents;  // of a diagram, that it sets
};
const std::vector<ExtentOption>& extent_options() {
  static const std::vector<ExtentOption> table{{"batch", {Extent::batch}},
                                               {"heads-q", {Extent::heads_kv, Extent::group}},
                                               {"heads-kv", {Extent::heads_kv, Extent::group}},
                                               {"q-len", {Extent::q_len}},
                                               {"kv-len", {Extent::kv_len}},
                                               {"head-dim", {Extent::d_qk, Extent::d_v}},
                                               {"v-head-dim", {Extent::d_v}}};
  return table;
}

bool sized_by(const Diagram& diagram, Extent extent) {
  return std::any_of(diagram.axes.begin(), diagram.axes.end(), [&](const Axis& axis) { return axis.extent == extent; });
}

// A size that no axis takes would change nothing.
void refuse_idle_sizes(const Arguments& arguments, const Diagram& diagram) {
  for (const ExtentOption& option : extent_options()) {
    if (!arguments.has(option.name) || std::any_of(option.extents.begin(), option.extents.end(),
                                                   [&](Extent extent) { return sized_by(diagram, extent); }))
      continue;
    refuse(std::string("--") + option.name,
           fmt::format("diagram '{}' has no axis of that size; its own are set with --size", diagram.name));
  }
}

Workload read_workload(const Arguments& arguments, const Diagram& diagram) {
  refuse_idle_sizes(arguments, diagram);
  Workload workload;
  if (const auto name = arguments.text("workload")) workload = find_workload(*name, data_directory() / "models");
  const auto extent = [&](const char* name) { return arguments.integer(name, 1, largest_extent); };
  if (const auto batch = extent("batch")) workload.batch = *batch;
  if (const auto heads = extent("heads-q"))
    workload.heads_q = *heads, workload.heads_kv = arguments.has("workload") ? workload.heads_kv : *heads;
  if (const auto heads = extent("heads-kv")) workload.heads_kv = *heads;
  if (const auto length = extent("q-len"))
    workload.q_len = *length, workload.kv_len = arguments.has("workload") ? workload.kv_len : *length;
  if (const auto length = extent("kv-len")) workload.kv_len = *length;
  if (const auto dim = extent("head-dim")) workload.d_qk = workload.d_v = *dim;
  if (const auto dim = extent("v-head-dim")) workload.d_v = *dim;
  if (!arguments.has("workload") && !arguments.has("q-len") && sized_by(diagram, Extent::q_len))
    refuse("--q-len", "is missing: give --q-len (and --kv-len, --heads-q, --head-dim, ...) or --workload");
  const std::vector<std::string> violations = workload.violations();
  std::vector<Diagnostic> diagnostics;
  for (const std::string& violation : violations) diagnostics.push_back({.path = "workload", .message = violation});
  if (!diagnostics.empty()) throw InputError(std::move(diagnostics));
  return workload;
}

Mask read_mask(const Arguments& arguments, const Workload& workload, const Diagram& diagram) {
  const std::string text = arguments.text("mask").value_or("none");
  if (text != "none" && !diagram.guard)
    refuse("--mask", fmt::format("diagram '{}' has no queries and keys to mask, found '{}'", diagram.name, text));
  if (const auto mask = parse_mask(text)) return *mask;
  if (const auto file = mask_file(text)) return load_block_mask(*file, workload);
  std::vector<std::string> kinds;
  for (const MaskKindRow& row : EnumTable<MaskKind>::rows) kinds.emplace_back(row.spelling);
  refuse("--mask", fmt::format("expected {}, found '{}'{}", mask_spellings(), text,
                               nearest(text, kinds) ? did_you_mean(text, kinds) : ""));
}

// "q=128,kv=64,warps=4"
void apply_tile(Point& point, const Plan& plan, const std::string& text) {
  std::vector<std::string> names{"warps", "stages"};
  for (const Parameter& parameter : plan.schedule.parameters) names.push_back(parameter.name);
  std::set<std::string> seen;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    if (!seen.insert(name).second) refuse("--tile", fmt::format("'{}' is given twice in '{}'", name, text));
    const auto value = equals == std::string::npos ? std::nullopt : parse_count(part.substr(equals + 1));
    if (!value || *value < 1 || *value > largest_extent)
      refuse("--tile",
             fmt::format("expected NAME=SIZE[,NAME=SIZE...] with positive sizes, as in q=128,kv=64, found '{}'", part));
    const int parameter = plan.schedule.find_parameter(name);
    if ((name == "warps" || name == "stages") && *value > 64)
      refuse("--tile", fmt::format("{} must be from 1 to 64, found {}", name, *value));
    if (name == "warps") point.warps = *value;
    else if (name == "stages") point.stages = *value;
    else if (parameter >= 0) point.tiles[static_cast<std::size_t>(parameter)] = *value;
    else
      refuse("--tile",
             fmt::format("schedule '{}' has no tile '{}'{}", plan.schedule.name, name, did_you_mean(name, names)));
  }
}

// --splits N is --tile splits=N; it alone leaves the other tiles to be chosen.
void apply_splits(Point& point, const Plan& plan, const Arguments& arguments) {
  const auto splits = arguments.integer("splits", 1, largest_extent);
  if (!splits) return;
  const int parameter = plan.schedule.find_parameter("splits");
  if (parameter < 0)
    refuse("--splits",
           fmt::format("schedule '{}' does not split an axis; choose one that does, as in --schedule split-kv",
                       plan.schedule.name));
  for (const std::string& part : split(arguments.text("tile").value_or(""), ','))
    if (part.starts_with("splits=")) refuse("--splits", "'splits' is given twice, here and in --tile");
  point.tiles[static_cast<std::size_t>(parameter)] = *splits;
}

}  // namespace

Mask mask_of(const Arguments& arguments, const Workload& workload, const Diagram& diagram) {
  return read_mask(arguments, workload, diagram);
}

std::vector<OptionSpec> point_options() {
  return {{"hardware", "GPU profile id or YAML file (see: tilescope list gpus)", Value::hardware},
          {"schedule",
           "schedule name or file: " + join(shipped_names(data_directory() / "models" / "schedules"), ", ") +
               " (default flash2)",
           Value::schedule},
          {"kernel", "kernel name or descriptor file: fused_mma, reference, ... (see: tilescope list kernels)",
           Value::kernel},
          {"diagram", "apply the schedule to this diagram, a name in models/diagrams or a file", Value::diagram},
          {"size", "a size of the diagram's own, as in pages=64 or a=1k,b=4k; may be repeated"},
          {"workload", "named shape in models/workloads, or a file", Value::workload},
          {"batch", "batch size (default 1)", Value::count},
          {"heads-q", "query heads (default 1; alias --heads)", Value::count},
          {"heads-kv", "KV heads (default: as query heads)", Value::count},
          {"q-len", "query length (alias --seqlen); 4k = 4096", Value::count},
          {"kv-len", "key length (default: as query length)", Value::count},
          {"head-dim", "head dimension of Q and K, and of V unless --v-head-dim (default 64)", Value::count},
          {"v-head-dim", "head dimension of V and O", Value::count},
          {"mask", "none, causal, window:W or block-sparse:FILE"},
          {"dtype",
           "fp32 tf32 bf16 fp16 fp8_e4m3 fp8_e5m2 int8 int4, and per array: fp16,kv=int8:g64:b2,o=bf16; keys: q k v kv "
           "o s p, "
           "l (row statistics), acc (accumulators, partial results), do dq dk dv (backward), index (block tables), or "
           "the diagram's"},
          {"tile", "tile sizes: q=128,kv=64,warps=4,pack=1"},
          {"splits", "parts the keys are cut into, of a schedule that splits them: the same as --tile splits=N",
           Value::count},
          {"pass",
           "forward or backward: without --schedule or --kernel, backward is flash2-backward",
           Value::choice,
           {"forward", "backward"}}};
}

std::vector<OptionSpec> output_options() {
  return {{"format", "text, json, csv or md", Value::choice, {"text", "json", "csv", "md"}},
          {"output", "write to this file (alias -o)", Value::output_file},
          {"color",
           "auto (default: colours on a terminal, unless NO_COLOR is set), always or never",
           Value::choice,
           {"auto", "always", "never"}},
          {"quiet", "no progress or notes (alias -q)", Value::flag},
          {"help", "this text (alias -h)", Value::flag}};
}

HardwareProfile read_hardware(const Arguments& arguments) {
  const auto name = arguments.text("hardware");
  if (!name) refuse("--hardware", "is missing: give a GPU, as in --hardware h200_sxm; see tilescope hardware list");
  return find_profile(*name, data_directory() / "hardware");
}

void apply_dtypes(Point& point, const Plan& plan, const std::string& text) {
  std::set<std::string> seen;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == 0) refuse("--dtype", fmt::format("expected ARRAY=FORMAT, as in kv=int8, found '{}'", part));
    const std::string key = equals == std::string::npos ? "" : part.substr(0, equals);
    const std::string name = equals == std::string::npos ? part : part.substr(equals + 1);
    if (!seen.insert(key).second)
      refuse("--dtype", key.empty() ? fmt::format("more than one format for all arrays in '{}'", text)
                                    : fmt::format("'{}' is given twice in '{}'", key, text));
    const auto dtype = parse_dtype(name);
    if (!dtype)
      refuse("--dtype", fmt::format("expected a format, optionally with scales as in int8:g64:b2, found '{}'{}", name,
                                    did_you_mean(name, dtype_names())));
    if (!set_dtype(point, plan.schedule.diagram, key, *dtype)) {
      std::vector<std::string> keys = dtype_keys(plan.schedule.diagram);
      if (contains(keys, "k")) keys.insert(keys.begin(), "kv");
      refuse("--dtype", fmt::format("no array takes the key '{}'{}", key, did_you_mean(key, keys)));
    }
  }
}

void default_tile(Point& point, const Plan& plan) {
  for (const KernelVariant& variant : plan.kernel.variants) {
    if (!serves(plan, point, variant)) continue;
    take_variant(point, plan.schedule, variant);
    return;
  }
}

bool tile_given(const Arguments& arguments) { return arguments.has("tile"); }

SearchOptions search_options(const Arguments& arguments, const Plan& plan) {
  SearchOptions options;
  if (const int splits = plan.schedule.find_parameter("splits"); splits >= 0 && arguments.has("splits"))
    options.fixed.push_back(splits);
  return options;
}

Point read_point(const Arguments& arguments, const Plan& plan) {
  Point point = default_point(plan);
  point.workload = read_workload(arguments, plan.schedule.diagram);
  point.mask = read_mask(arguments, point.workload, plan.schedule.diagram);
  if (!plan.kernel.formats.empty()) set_formats(point, plan.schedule.diagram, plan.kernel.formats.front());
  if (const auto dtypes = arguments.text("dtype")) apply_dtypes(point, plan, *dtypes);
  default_tile(point, plan);
  if (const auto tile = arguments.text("tile")) apply_tile(point, plan, *tile);
  apply_splits(point, plan, arguments);
  return point;
}

}  // namespace tilescope::cli
